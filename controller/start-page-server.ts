import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BindAddress } from "../lib/bind-address.ts";
import type { Running } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";

export interface Page {
  readonly contentType: string;
  readonly body: string;
}

export interface PageServer extends Running {
  /** Where it really listens, also when port 0 was asked for. */
  readonly url: string;
}

export interface PageServerOptions {
  /** For the log and for errors. */
  readonly name: string;
  readonly address: BindAddress;
  /** By path; asked anew for each request. */
  readonly pages: Readonly<Record<string, () => Promise<Page>>>;
  readonly log: Logger;
}

// Monitoring asks for a small page and reads it; whoever takes longer than this is not monitoring.
const requestLimitMs = 10_000;

/**
 * Serves a few read-only pages over HTTP, to whoever can reach the port.
 *
 * @throws Error when the address cannot be had.
 */
export async function startPageServer({ name, address, pages, log }: PageServerOptions): Promise<PageServer> {
  const server = createServer({ requestTimeout: requestLimitMs }, (request, response) => {
    const path = new URL(request.url ?? "/", "http://any").pathname;
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (!page || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(page ? 405 : 404, { "content-type": "text/plain" }).end(page ? "GET only\n" : "not found\n");
      return;
    }
    page().then(
      ({ contentType, body }) => response.writeHead(200, { "content-type": contentType }).end(body),
      (err: unknown) => {
        log.error({ err, path }, "a page could not be made");
        response.writeHead(500, { "content-type": "text/plain" }).end("internal error\n");
      },
    );
  });
  await listen(server, name, address);
  const failed = new Promise<never>((_, reject) => server.once("error", reject));
  failed.catch(() => {}); // whoever does not race it must not be killed by it
  return {
    failed,
    url: urlOf(server.address() as AddressInfo),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, name: string, { host, port }: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new Error(`cannot serve ${name} on ${host ?? ""}:${port}: ${cause.message}`, { cause }));
    });
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
}

function urlOf({ address, port }: AddressInfo): string {
  if (address === "::" || address === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return address.includes(":") ? `http://[${address}]:${port}` : `http://${address}:${port}`;
}
