import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { answerOf, send } from "./exchange.ts";
import { KindRegistry } from "./kind-registry.ts";
import { RequestHandler } from "./request-handler.ts";
import type { ServedKind } from "./served-kind.ts";
import { internalError, StatusError, unauthorized } from "./status-errors.ts";
import { Storage } from "./storage.ts";
import { WatchHub } from "./watch-hub.ts";
import type { WatchStream } from "./watch-stream.ts";

export interface MemoryApiOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** A loopback address. */
  readonly host: string;
  /** 0 is any. */
  readonly port: number;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** What callers have to bring as a bearer token; absent, nobody is asked. */
  readonly token?: string;
  readonly kinds: readonly ServedKind[];
  readonly maxBodyBytes?: number;
}

export interface MemoryApiServer extends Running {
  readonly url: string;
  readonly port: number;
}

/** Starts an API server that keeps its objects in memory. Rejects when the port is taken. */
export async function startMemoryApiServer(options: MemoryApiOptions): Promise<MemoryApiServer> {
  const { clock, log, tls, host } = options;
  const storage = new Storage();
  const hub = new WatchHub(storage.version, { historyLength: 1_000 });
  storage.onCommit((commit) => hub.publish(commit));
  for (const name of ["default", "kube-system", "agent-sandbox-system"]) {
    storage.put("namespaces", namespaceNamed(name, clock.now()));
  }
  const watches = new Set<WatchStream>();
  const handler = new RequestHandler({
    clock,
    storage,
    hub,
    kinds: new KindRegistry(options.kinds),
    maxBodyBytes: options.maxBodyBytes ?? 3 * 1024 * 1024,
    watchLimits: { bufferedBytesMax: 4 * 1024 * 1024, bookmarkEveryMs: 60_000 },
    watches,
  });
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      if (options.token && request.headers.authorization !== `Bearer ${options.token}`) throw unauthorized();
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
      const exchange = { method: request.method ?? "GET", path: pathname, query: searchParams, request, response };
      const answer = await handler.handle(exchange);
      if (answer) send(response, answer);
    } catch (error) {
      if (!(error instanceof StatusError)) log.error({ err: error }, "request failed");
      send(response, answerOf(error instanceof StatusError ? error : internalError("see the log")));
    }
  };
  const server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
  await listen(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://${host}:${port}`,
    port,
    failed: new Promise<never>(() => {}),
    async [Symbol.asyncDispose]() {
      for (const watch of watches) watch.end();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

function namespaceNamed(name: string, now: Date) {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: crypto.randomUUID(), creationTimestamp: `${now.toISOString().slice(0, 19)}Z` },
    status: { phase: "Active" },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
