import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import type { BindAddress } from "../lib/bind-address.ts";

export interface OpsServer extends AsyncDisposable {
  readonly url: string;
}

export interface OpsOptions {
  readonly address: BindAddress;
  readonly registry: Registry;
  /** Whether new connections are wanted. */
  readonly isReady: () => boolean;
}

/** Serves `/healthz`, `/readyz` and `/metrics`, apart from the port that strangers reach. */
export async function startOpsServer({ address, registry, isReady }: OpsOptions): Promise<OpsServer> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const say = (status: number, type: string, body: string) =>
      response.writeHead(status, { "content-type": type }).end(body);
    switch (request.url?.split("?", 1)[0]) {
      case "/healthz":
        return say(200, "application/json", '{"status":"ok"}');
      case "/readyz":
        return isReady() ? say(200, "text/plain", "ok") : say(503, "text/plain", "draining");
      case "/metrics":
        return void registry.metrics().then(
          (text) => say(200, registry.contentType, text),
          () => say(500, "text/plain", "metrics could not be collected"),
        );
      default:
        return say(404, "text/plain", "not found");
    }
  });
  await listen(server, address);
  return {
    url: urlOf(server.address() as AddressInfo),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, { host, port }: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => resolve());
  });
}

/** A URL at which a server on this machine is reached. */
export function urlOf({ address, port }: AddressInfo): string {
  if (address === "::" || address === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
