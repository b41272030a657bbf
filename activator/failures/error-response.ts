import { type HeaderPair, headerValue, headerValues, type RequestHead, type Synthetic } from "../request.ts";
import type { ActivatorError } from "./errors-for-clients.ts";
import { toGrpcResponse } from "./grpc-response.ts";

/**
 * Turns errors into responses; no other code does. Without a request head the error is JSON. `isLate`: the time that the client
 * allowed is over.
 */
export function toResponse(error: ActivatorError, head?: RequestHead, isLate = false): Synthetic {
  if (head?.grpc) return toGrpcResponse(error, head.grpc, isLate);
  const page = head !== undefined && prefersPage(head.headers);
  const headers: HeaderPair[] = [
    ["Content-Type", page ? "text/html; charset=utf-8" : "application/json"],
    ["X-Rouse-Reason", error.code],
    ["Cache-Control", "no-store"],
  ];
  if (error.retryAfterSeconds !== undefined) headers.push(["Retry-After", String(error.retryAfterSeconds)]);
  const refreshSeconds = error.code === "Waking" ? error.retryAfterSeconds : undefined;
  const body = page ? pageOf(error, refreshSeconds) : JSON.stringify({ detail: error.detail });
  return { status: error.status, headers, body, code: error.code };
}

/** Whether a person opens a page, rather than a program fetching data (Fetch Metadata, "navigate"). */
export function isNavigation(head: RequestHead): boolean {
  return (
    head.method === "GET" &&
    !head.upgrade &&
    headerValue(head.headers, "sec-fetch-mode")?.toLowerCase() === "navigate" &&
    prefersPage(head.headers)
  );
}

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

function pageOf(error: ActivatorError, refreshSeconds: number | undefined): string {
  const waking = refreshSeconds !== undefined;
  const title = waking ? "Waking up…" : `${error.status} ${error.code}`;
  const refresh = waking ? `<meta http-equiv="refresh" content="${refreshSeconds}">` : "";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${refresh}<style>
body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:36rem;padding:0 1rem;color-scheme:light dark}
</style></head><body><h1>${title}</h1><p>${escapeHtml(error.detail)}</p></body></html>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
