import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { foreignCaller, type StatusError, unauthorized } from "../status-errors.ts";

export interface AccessRules {
  /** The port that the server listens on. */
  readonly port: number;
  /** Whether it speaks TLS. It decides which port a host without a port means. */
  readonly tls: boolean;
  /** The bearer token that callers must send; undefined: none is required. */
  readonly token: string | undefined;
}

/**
 * The reason to reject a request before anything else. A client of this server can start processes. A web page can make
 * a browser send requests to loopback addresses: under a name of its own that resolves there, or with its own origin.
 */
export function refusalOfAccess(headers: IncomingHttpHeaders, rules: AccessRules): StatusError | undefined {
  const { port, tls, token } = rules;
  if (!isOurHost(headers.host, { port, tls })) return foreignCaller("this API server answers on loopback names only");
  if (headers.origin !== undefined && !isOurOrigin(headers.origin, port)) {
    return foreignCaller("this API server does not answer to web pages of other origins");
  }
  return token === undefined || bears(headers.authorization, token) ? undefined : unauthorized();
}

const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/i;

/** Clients leave out the port of their scheme: 443 with TLS, else 80. */
function isOurHost(host: string | undefined, { port, tls }: Pick<AccessRules, "port" | "tls">): boolean {
  const [, name = "", hostPort = tls ? 443 : 80] = /^(.*?)(?::(\d+))?$/.exec(host ?? "") ?? [];
  return loopback.test(name) && Number(hostPort) === port;
}

function isOurOrigin(origin: string, port: number): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/.exec(origin) ?? [];
  return isOurHost(host, { port, tls: scheme === "https" });
}

function bears(authorization: string | undefined, token: string): boolean {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  // Digests have one length, so neither the time nor an error reveals how close a guess was.
  return timingSafeEqual(digest(given), digest(token));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
