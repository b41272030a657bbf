import type { HeaderPair } from "../request.ts";
import type { BasePath } from "./base-path.ts";
import { type Started, startedFields } from "./started-header.ts";

/** What decides which fields the activator adds to a response. */
interface Facts extends Started {
  readonly base?: BasePath | undefined;
}

/**
 * A response that a cache kept for a page must not become the script of a service worker: then no request for that script would reach the
 * activator (Service Workers, "Update", `updateViaCache`).
 */
const notForWorkers: HeaderPair = ["vary", "Service-Worker"];

/** The fields that the activator adds to the response of a sandbox, for clients of HTTP/2: names in lower case. */
export function ownFields(facts: Facts): readonly HeaderPair[] {
  const started = startedFields(facts);
  return facts.base?.hiddenParameter === undefined ? started : [...started, notForWorkers];
}

/** The same as lines of HTTP/1.1. */
export function ownLines(facts: Facts): string {
  let lines = "";
  for (const [name, value] of ownFields(facts)) lines += `${spelt[name] ?? name}: ${value}\r\n`;
  return lines;
}

const spelt: Readonly<Record<string, string>> = { "x-rouse-started": "X-Rouse-Started", vary: "Vary" };
