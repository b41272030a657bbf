import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { hostEnd, isSameAuthority } from "../../http1/parse/authority.ts";
import { targetBytes, tokenBytes } from "../../http1/parse/byte-classes.ts";
import { consistsOf, eachField, lineOf, malformed, type RawFields } from "./field-lines.ts";

/** The facts of a request's stream that its fields do not show. */
export interface StreamFacts {
  readonly scheme: "http" | "https";
  /** The stream has no body: the client ended it with the fields. */
  readonly isEnded: boolean;
  /** The key of an upgrade to a WebSocket, which HTTP/2 does not have. */
  readonly webSocketKey: string;
}

/** The fields of a request, sorted by what HTTP/1.1 does with them. */
class Sorted {
  method: string | undefined;
  scheme: string | undefined;
  authority: string | undefined;
  path: string | undefined;
  protocol: string | undefined;
  host: string | undefined;
  cookie: string | undefined;
  hasLength = false;
  /** The fields that stay as they are. */
  lines = "";
}

type Pseudo = "method" | "scheme" | "authority" | "path" | "protocol";

const pseudo: ReadonlyMap<string, Pseudo> = new Map(
  (["method", "scheme", "authority", "path", "protocol"] as const).map((name) => [`:${name}`, name]),
);

/** Fields of a connection of HTTP/1.1, which no request of HTTP/2 may have (RFC 9113, 8.2.2). */
const ofConnection: ReadonlySet<string> = new Set([
  ...["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings"],
]);

/** The key and its proof belong to the upgrade of HTTP/1.1, which the activator makes itself (RFC 8441, 5). */
const ofUpgrade: ReadonlySet<string> = new Set(["sec-websocket-key", "sec-websocket-accept"]);

/**
 * Writes a request of HTTP/2 as a head of HTTP/1.1, so that one strict parser judges the requests of both versions. This function
 * checks what that parser could not see any more (RFC 9113, 8.2 and 8.3).
 *
 * @throws ActivatorError if the request is malformed, or a CONNECT that is no WebSocket.
 */
export function requestLines(fields: RawFields, { scheme, isEnded, webSocketKey }: StreamFacts): string {
  const sorted = sortFields(fields);
  const { method = "", path = "", protocol, cookie, hasLength } = sorted;
  if (method === "CONNECT" && protocol !== "websocket") throw new ActivatorError("MethodNotAllowed");
  if (method !== "CONNECT" && protocol !== undefined) throw malformed("protocol without connect");
  if (!consistsOf(method, tokenBytes)) throw malformed("method invalid");
  if (!isTarget(path)) throw malformed("target invalid");
  if (sorted.scheme !== "http" && sorted.scheme !== "https") throw malformed("scheme invalid");
  const start = `${protocol ? "GET" : method} ${path} HTTP/1.1\r\n${lineOf("host", authorityOf(sorted, scheme))}`;
  const lines = `${start}${cookie === undefined ? "" : lineOf("cookie", cookie)}${sorted.lines}`;
  if (protocol) {
    if (hasLength || isEnded) throw malformed("a connect that is no tunnel");
    return `${lines}connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ${webSocketKey}\r\n\r\n`;
  }
  return `${lines}${isEnded || hasLength ? "" : "transfer-encoding: chunked\r\n"}\r\n`;
}

function sortFields(fields: RawFields): Sorted {
  const sorted = new Sorted();
  eachField(fields, (name, value) => {
    const own = pseudo.get(name);
    if (own !== undefined) {
      if (sorted[own] !== undefined) throw malformed("pseudo header repeated");
      sorted[own] = value;
    } else sortField(sorted, name, value);
  });
  return sorted;
}

function sortField(sorted: Sorted, name: string, value: string): void {
  if (name.startsWith(":")) throw malformed("pseudo header unknown");
  if (ofConnection.has(name)) throw malformed("connection header");
  if (name === "te" && value.toLowerCase() !== "trailers") throw malformed("te invalid");
  if (name === "host") {
    if (sorted.host !== undefined) throw malformed("host repeated");
    sorted.host = value;
    return;
  }
  if (name === "cookie") {
    // Clients may split it for better compression (RFC 9113, 8.2.3).
    sorted.cookie = sorted.cookie === undefined ? value : `${sorted.cookie}; ${value}`;
    return;
  }
  if (ofUpgrade.has(name)) return;
  if (name === "content-length") sorted.hasLength = true;
  sorted.lines += lineOf(name, value);
}

/** A path, or the `*` of OPTIONS. A whole URI would name the host once more. */
const isTarget = (path: string) => (path.startsWith("/") || path === "*") && consistsOf(path, targetBytes);

/** The one host of the request. Programs behind proxies read either field, so two hosts are refused. */
function authorityOf({ authority, host }: Sorted, scheme: "http" | "https"): string {
  if (authority === undefined || host === undefined) {
    const only = authority ?? host ?? "";
    if (!isAuthority(only)) throw malformed(only === "" ? "host missing" : "host invalid");
    return only;
  }
  if (!isAuthority(authority) || !isAuthority(host)) throw malformed("host invalid");
  const bytes = Buffer.from(authority + host, "latin1");
  const defaultPort = scheme === "https" ? 443 : 80;
  const [one, other] = [[0, authority.length] as const, [authority.length, bytes.length] as const];
  if (!isSameAuthority(bytes, one, other, defaultPort)) throw malformed("host disagrees");
  return authority;
}

const isAuthority = (text: string) => hostEnd(Buffer.from(text, "latin1"), 0, text.length) > 0;
