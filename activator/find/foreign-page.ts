import { type HeaderPair, headerValues } from "../request.ts";
import { type Domains, readHost } from "./host-name.ts";

/**
 * Whether a browser sent the request for a web page that is neither of a sandbox nor of a listed host. Such a page is anybody's. Links
 * from anywhere stay possible: opening one is a choice of the user. Programs other than browsers send none of these headers.
 */
export function isOfForeignPage(headers: readonly HeaderPair[], domains: Domains): boolean {
  const origins = headerValues(headers, "origin");
  if (origins.length > 0) return !origins.every((origin) => isOurs(origin, domains));
  // Without an Origin: images, scripts, frames, and GET from forms.
  const [site] = headerValues(headers, "sec-fetch-site");
  if (site !== "cross-site" || isOpenedByUser(headers)) return false;
  const [referrer = ""] = headerValues(headers, "referer");
  return !isOurs(/^https?:\/\/[^/]*/.exec(referrer)?.[0] ?? "", domains);
}

function isOpenedByUser(headers: readonly HeaderPair[]): boolean {
  const [mode] = headerValues(headers, "sec-fetch-mode");
  const [destination] = headerValues(headers, "sec-fetch-dest");
  return mode === "navigate" && destination === "document";
}

/** The host and port of an origin; undefined if the text is none. */
export const hostOfOrigin = (origin: string): string | undefined => /^https?:\/\/([^/]+)$/.exec(origin)?.[1];

/** `null` is the origin of pages in a sandboxed frame and of files: it may be anybody's too. */
function isOurs(origin: string, domains: Domains): boolean {
  const host = hostOfOrigin(origin);
  if (host === undefined) return false;
  const { is } = readHost(host, domains);
  return is === "sandbox" || (is === "other" && domains.headerHosts !== undefined);
}
