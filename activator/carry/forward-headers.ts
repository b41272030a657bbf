import { type HeaderPair, headerValues, type RequestHead } from "../request.ts";

/** Belong to one connection, not to the message (RFC 9110, 7.6.1); the framing is decided anew on each side. */
const hopByHop = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/** Said to us, and no business of the sandbox. The id and the namespace go through: programs read them. */
const ours = new Set(["x-sandbox-pod-ip", "x-sandbox-timeout", "x-sandbox-uid"]);

/** Written by us alone; what a client claims about where it came from is worth nothing. */
const forwarded = new Set(["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]);

/** A `Connection` header may not strip what says where a message goes or where it ends. */
const notForConnectionToStrip = new Set(["host", "content-length"]);

export interface ForwardRules {
  /** The host named the sandbox: the request keeps what belongs to that origin. */
  readonly byHost: boolean;
  readonly consumesAuthorization: boolean;
  /** `ip:port` of the Pod. */
  readonly authority: string;
}

/** The headers that a sandbox gets: the client's, in order, less and plus what spec router 8 says. */
export function requestHeaders(head: RequestHead, rules: ForwardRules): HeaderPair[] {
  const named = namedByConnection(head.headers);
  const kept = head.headers.filter(([name]) => keepsRequestHeader(name.toLowerCase(), head, rules, named));
  const host: HeaderPair = ["Host", rules.byHost ? head.host : rules.authority];
  const added: HeaderPair[] = [
    ["X-Forwarded-For", head.peer],
    ["X-Forwarded-Host", head.host],
    ["X-Forwarded-Proto", "http"],
  ];
  if (headerValues(head.headers, "te").some((value) => /\btrailers\b/i.test(value))) added.push(["TE", "trailers"]);
  return [host, ...kept, ...added, ...framingOf(head), ...connectionOf(head)];
}

/** Whether a request has a body, be it an empty one. */
export function hasBody(headers: readonly HeaderPair[]): boolean {
  return isChunked(headers) || headerValues(headers, "content-length").length > 0;
}

export const isChunked = (headers: readonly HeaderPair[]): boolean =>
  headerValues(headers, "transfer-encoding").some((value) => /\bchunked\s*$/i.test(value));

/** The headers that a client gets: the sandbox's, in order, less what belongs to the connection behind us. */
export function responseHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  const named = namedByConnection(headers);
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !hopByHop.has(lower) && !named.has(lower) && lower !== "trailer";
  });
}

function keepsRequestHeader(
  name: string,
  head: RequestHead,
  { byHost, consumesAuthorization }: ForwardRules,
  named: ReadonlySet<string>,
): boolean {
  if (hopByHop.has(name) || ours.has(name) || forwarded.has(name) || named.has(name)) return false;
  switch (name) {
    case "host":
    case "expect": // answered by us, once there is a connection
      return false;
    case "trailer":
      return isChunked(head.headers);
    case "authorization":
      return byHost && !consumesAuthorization;
    case "origin":
      // Backends compare it with Host, which is theirs only where the host named the sandbox.
      return byHost || !head.upgrade;
    default:
      return true;
  }
}

/** No chunks on a request without a body, and none made of one whose length is known. */
function framingOf({ method, headers }: RequestHead): HeaderPair[] {
  if (isChunked(headers)) return [["Transfer-Encoding", "chunked"]];
  const bodyIsUnusual = ["GET", "HEAD", "DELETE", "OPTIONS"].includes(method);
  return hasBody(headers) || bodyIsUnusual ? [] : [["Content-Length", "0"]];
}

function connectionOf({ upgrade, headers }: RequestHead): HeaderPair[] {
  if (!upgrade) return [["Connection", "keep-alive"]];
  const settings: HeaderPair[] = headers.filter(([name]) => name.toLowerCase() === "http2-settings");
  const protocols = headerValues(headers, "upgrade").map((value): HeaderPair => ["Upgrade", value]);
  return [["Connection", settings.length > 0 ? "Upgrade, HTTP2-Settings" : "Upgrade"], ...protocols, ...settings];
}

function namedByConnection(headers: readonly HeaderPair[]): ReadonlySet<string> {
  const names = headerValues(headers, "connection").flatMap((value) => value.split(","));
  const lower = names.map((name) => name.trim().toLowerCase());
  return new Set(lower.filter((name) => !notForConnectionToStrip.has(name)));
}
