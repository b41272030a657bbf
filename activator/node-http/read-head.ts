import type { IncomingMessage } from "node:http";
import { ActivatorError } from "../errors.ts";
import { canonicalIp } from "../find/ip-address.ts";
import { type HeaderPair, headerValues, type RequestHead } from "../request.ts";

/** Header lines in one head. Node drops what is above this in silence, and does not count small ones by their size. */
export const headersMax = 1_000;

/** Pairs of the flat list in which Node keeps raw headers and trailers. */
export function pairsOf(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}

/**
 * The head of a request. The parser has refused what is malformed; this refuses what it lets pass although two
 * readers could take it for two different requests.
 *
 * @throws ActivatorError with the reason.
 */
export function readHead(request: IncomingMessage, upgrade: boolean): RequestHead {
  const { method = "", url = "", httpVersion } = request;
  const headers = pairsOf(request.rawHeaders);
  if (headers.length >= headersMax) throw new ActivatorError("HeadersTooLarge");
  if (httpVersion !== "1.1" && httpVersion !== "1.0") throw malformed("HTTP/1.0 or HTTP/1.1 is spoken here");
  const encodings = headerValues(headers, "transfer-encoding");
  if (encodings.length > 0 && httpVersion === "1.0") throw malformed("HTTP/1.0 knows no Transfer-Encoding");
  if (encodings.length > 1 || encodings.some((value) => value.trim().toLowerCase() !== "chunked")) {
    throw malformed("no Transfer-Encoding but chunked is understood");
  }
  const hosts = headerValues(headers, "host");
  if (hosts.length > 1) throw malformed("there are several Host headers");
  if (hosts.length === 0 && httpVersion === "1.1") throw malformed("there is no Host header");
  const { target, host } = readTarget(method, url, hosts[0]?.trim() ?? "");
  const peer = request.socket.remoteAddress ?? "";
  return { method, target, host, headers, upgrade, peer: canonicalIp(peer) ?? peer };
}

function readTarget(method: string, url: string, host: string): { readonly target: string; readonly host: string } {
  if (url.includes("#")) throw malformed("the target has a fragment");
  if (url.startsWith("/") || (url === "*" && method === "OPTIONS")) return { target: url, host };
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url);
  if (!absolute) throw malformed("the target is neither a path nor a URL");
  const [, authority = "", rest = ""] = absolute;
  if (host !== "" && authority.toLowerCase() !== host.toLowerCase()) throw malformed("the target contradicts Host");
  return { target: rest.startsWith("/") ? rest : `/${rest}`, host: authority };
}

const malformed = (because: string) => new ActivatorError("MalformedRequest", { because });
