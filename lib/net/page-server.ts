import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, isIP } from "node:net";
import type { SecureVersion } from "node:tls";
import { keepShowing, type ShownCertificates, secretsOf } from "../certificates/certificate-source.ts";
import { guarded } from "../guard/guard.ts";
import type { Logger } from "../log/log.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { OncePerMinute } from "../time/once-per-minute.ts";
import type { BindAddress } from "./bind-address.ts";
import { limitConnections, strangerLimits } from "./connection-limit.ts";
import { listen } from "./listen.ts";
import { dropRest } from "./one-request.ts";

export interface Page {
  /** Default: 200. */
  readonly status?: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** By path; called for each request, with its query. */
export type Pages = Readonly<Record<string, (query: URLSearchParams) => Page | Promise<Page>>>;

export interface PageServer extends AsyncDisposable {
  /** The actual address, also if port 0 was requested. */
  readonly url: string;
}

export interface PageTls {
  readonly certificates: ShownCertificates;
  readonly minVersion?: SecureVersion;
  /** In OpenSSL's format; absent: Node's default. */
  readonly ciphers?: string;
}

export interface PageServerOptions {
  /** For the log and for errors. */
  readonly name: string;
  readonly address: BindAddress;
  readonly pages: Pages;
  readonly log: Logger;
  /** Absent: plain HTTP. */
  readonly tls?: PageTls | undefined;
  /** Absent: the system's. */
  readonly clock?: Clock;
  /**
   * The host names under which the pages are served, besides IP addresses; absent: all. A web page whose name its owner points to this
   * machine sends that name.
   */
  readonly hosts?: readonly string[] | undefined;
}

// Monitoring requests a small page and reads it within this time.
const timeLimits = { ...strangerLimits, requestTimeout: 10_000 };
// Monitoring and the kubelet's probes use a few each.
const connectionsMax = { max: 128, perPeerMax: 64, answerTakenWithinMs: 10_000 };

/**
 * Serves a few read-only pages over HTTP or HTTPS, to any client that reaches the port.
 *
 * @throws Error when the address cannot be used, or the TLS settings are invalid.
 */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { name, address, tls, clock } = options;
  const mayLog = new OncePerMinute(clock ?? systemClock);
  const answer = guarded(
    "page",
    (request: IncomingMessage, response: ServerResponse) => serve(request, response, { ...options, mayLog }),
    (_request, response) => response.destroy(),
  );
  const { server, following } = tls ? createSecure(tls, answer) : createPlain(answer);
  const connections = limitConnections(server, { ...connectionsMax, clock });
  const { host, port } = address;
  const where = await listen(server, address).catch((cause: Error) => {
    throw new Error(`cannot serve ${name} on ${host ?? ""}:${port}: ${cause.message}`, { cause });
  });
  return {
    url: urlOf(where, tls ? "https" : "http"),
    async [Symbol.asyncDispose]() {
      following?.[Symbol.dispose]();
      connections.closeAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

function createPlain(answer: Answer): { readonly server: Server; readonly following?: Disposable } {
  return { server: createServer(timeLimits, answer) };
}

function createSecure({ certificates, minVersion, ciphers }: PageTls, answer: Answer) {
  const settings = { ...(minVersion && { minVersion }), ...(ciphers && { ciphers }) };
  const server = createTlsServer({ ...timeLimits, ...settings, ...secretsOf(certificates) }, answer);
  return { server, following: keepShowing(server, certificates, settings) };
}

interface Serving extends Pick<PageServerOptions, "pages" | "log" | "hosts"> {
  /** Any client that reaches the port may repeat a request. */
  readonly mayLog: OncePerMinute;
}

async function serve(request: IncomingMessage, response: ServerResponse, { pages, log, mayLog, hosts }: Serving) {
  const { path, query } = splitTarget(request.url ?? "/");
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  const say = (answer: Page) => write(answer, request, response);
  if (hosts && !isServedUnder(request.headers.host ?? "", hosts)) {
    return say({ status: 403, contentType: "text/plain", body: "not under this host name\n" });
  }
  if (!page) return say({ status: 404, contentType: "text/plain", body: "not found\n" });
  if (request.method !== "GET" && request.method !== "HEAD") {
    return say({ status: 405, contentType: "text/plain", body: "GET only\n" });
  }
  try {
    return say(await page(query));
  } catch (err) {
    if (mayLog.asks(path)) log.error({ err, path }, "could not render a page");
    return say({ status: 500, contentType: "text/plain", body: "internal error\n" });
  }
}

/** Whether the host of a request is an IP address or one of the names. Every browser sends it. */
function isServedUnder(host: string, names: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  return name === "" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || names.includes(name);
}

/**
 * Writes a page. The connection is closed only after the body of the request has come, within its limits: the kernel resets a
 * connection that is closed before, and a client that is still sending may lose the page. A connection that stays open needs no
 * such wait, and its next request must find the response finished.
 */
function write({ status = 200, contentType, body }: Page, request: IncomingMessage, response: ServerResponse): void {
  const isAwaited = !request.complete && !response.shouldKeepAlive;
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
  if (!isAwaited) return void response.end(body);
  response.flushHeaders();
  response.write(body);
  request.once("end", () => response.end());
  dropRest(request);
}

/**
 * The path and the query of a request target (RFC 9112, section 3.2), for any input: in the origin form `//` is a path,
 * and no authority follows.
 */
function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const absolute = target.startsWith("/") ? undefined : URL.parse(target);
  if (absolute) return { path: absolute.pathname, query: absolute.searchParams };
  const at = target.indexOf("?");
  const path = at < 0 ? target : target.slice(0, at);
  return { path, query: new URLSearchParams(at < 0 ? "" : target.slice(at + 1)) };
}

/** The URL of a server on this machine. */
export function urlOf({ address, port }: AddressInfo, scheme: "http" | "https" = "http"): string {
  if (address === "::" || address === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
