import { type HeaderPair, headerValues } from "../request.ts";

/** The number of characters of `Accept` that are read, over all its fields. Browsers send less than 200. */
export const acceptCharactersMax = 4_096;

/** Whether HTML is named with a weight not below that of JSON (RFC 9110, 12.5.1). A bare wildcard gets JSON. */
export function prefersPage(headers: readonly HeaderPair[]): boolean {
  const weights = new Map<string, number>();
  const accepted = headerValues(headers, "accept").join(",").slice(0, acceptCharactersMax);
  for (const range of accepted.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(type, q === undefined ? 1 : Number(q.slice(2)) || 0);
  }
  const html = weights.get("text/html") ?? 0;
  return html > 0 && html >= (weights.get("application/json") ?? 0);
}

/** `head`: elements besides the title, as markup. Title and text are shown as text. */
export function htmlPage(title: string, text: string, head = ""): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>${head}<style>
body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:36rem;padding:0 1rem;color-scheme:light dark}
</style></head><body><h1>${escaped(title)}</h1><p>${escaped(text)}</p></body></html>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
