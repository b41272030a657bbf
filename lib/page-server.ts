import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { SecureVersion } from "node:tls";
import type { BindAddress } from "./bind-address.ts";
import { keepShowing, type ShownCertificates, secretsOf } from "./certificate-source.ts";
import type { Running } from "./lifecycle.ts";
import { failureOf, listen } from "./listen.ts";
import type { Logger } from "./log.ts";

export interface Page {
  /** 200 unless told. */
  readonly status?: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** By path; asked anew for each request, with what stands behind its question mark. */
export type Pages = Readonly<Record<string, (query: URLSearchParams) => Page | Promise<Page>>>;

export interface PageServer extends Running {
  /** Where it really listens, also when port 0 was asked for. */
  readonly url: string;
}

export interface PageTls {
  readonly certificates: ShownCertificates;
  readonly minVersion?: SecureVersion;
  /** As OpenSSL lists them; absent: Node's choice. */
  readonly ciphers?: string;
}

export interface PageServerOptions {
  /** For the log and for errors. */
  readonly name: string;
  readonly address: BindAddress;
  readonly pages: Pages;
  readonly log: Logger;
  /** Absent: it is not encrypted. */
  readonly tls?: PageTls | undefined;
}

// Monitoring asks for a small page and reads it; whoever takes longer than this is not monitoring.
const requestLimitMs = 10_000;

/**
 * Serves a few read-only pages over HTTP or HTTPS, to whoever can reach the port.
 *
 * @throws Error when the address cannot be had, or the settings of TLS make no sense.
 */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { name, address, tls } = options;
  const answer = (request: IncomingMessage, response: ServerResponse) => void serve(request, response, options);
  const { server, following } = tls ? createSecure(tls, answer) : createPlain(answer);
  const { host, port } = address;
  const where = await listen(server, address).catch((cause: Error) => {
    throw new Error(`cannot serve ${name} on ${host ?? ""}:${port}: ${cause.message}`, { cause });
  });
  return {
    failed: failureOf(server),
    url: urlOf(where, tls ? "https" : "http"),
    async [Symbol.asyncDispose]() {
      following?.[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

function createPlain(answer: Answer): { readonly server: Server; readonly following?: Disposable } {
  return { server: createServer({ requestTimeout: requestLimitMs }, answer) };
}

function createSecure({ certificates, minVersion, ciphers }: PageTls, answer: Answer) {
  const settings = { ...(minVersion && { minVersion }), ...(ciphers && { ciphers }) };
  const server = createTlsServer({ requestTimeout: requestLimitMs, ...settings, ...secretsOf(certificates) }, answer);
  return { server, following: keepShowing(server, certificates, settings) };
}

async function serve(request: IncomingMessage, response: ServerResponse, { pages, log }: PageServerOptions) {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "http://any");
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  const say = ({ status = 200, contentType, body }: Page) =>
    response.writeHead(status, { "content-type": contentType }).end(body);
  if (!page) return say({ status: 404, contentType: "text/plain", body: "not found\n" });
  if (request.method !== "GET" && request.method !== "HEAD") {
    return say({ status: 405, contentType: "text/plain", body: "GET only\n" });
  }
  try {
    return say(await page(searchParams));
  } catch (err) {
    log.error({ err, path }, "a page could not be made");
    return say({ status: 500, contentType: "text/plain", body: "internal error\n" });
  }
}

/** A URL at which a server on this machine is reached. */
export function urlOf({ address, port }: AddressInfo, scheme: "http" | "https" = "http"): string {
  if (address === "::" || address === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
