import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import { listen } from "../../lib/listen.ts";
import type { Logger } from "../../lib/log.ts";
import { openDataDir } from "./data-dir.ts";
import { readTarget, refusalAnswer, send, streaming } from "./exchange.ts";
import { KindRegistry } from "./kind-registry.ts";
import { ServerDocuments } from "./kinds/server-documents.ts";
import type { PodLogSource } from "./pod-log-source.ts";
import { handle, type Services } from "./request-handler.ts";
import { ResourceRequests } from "./resource-requests.ts";
import type { ServedKind } from "./served-kind.ts";
import { startWorld } from "./start-world.ts";
import { internalError, StatusError } from "./status-errors.ts";

export interface MemoryApiOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** A loopback address. */
  readonly host: string;
  /** 0 is any that is free. */
  readonly port: number;
  /** PEM. Absent: plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** What callers have to bring as a bearer token. Absent: nobody is asked. */
  readonly token?: string;
  /** Where the state outlives the process. Absent: nowhere. */
  readonly dataDir?: string;
  readonly kinds: readonly ServedKind[];
  /** Whoever runs the Pods and has their logs. Absent: `kubectl logs` is refused. */
  readonly podLogs?: PodLogSource;
  /** 3 MiB unless told: what etcd takes, and some room. */
  readonly maxBodyBytes?: number;
}

export interface MemoryApiServer extends Running {
  readonly url: string;
  readonly port: number;
}

const defaultBodyBytesMax = 3 * 1024 * 1024;

// Everything that a caller could make wait or grow has an end; a body has to come within a minute.
const httpLimits: ServerOptions = {
  maxHeaderSize: 32 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 90_000,
};
const connectionsMax = 5_000;

/**
 * Starts an API server that keeps its objects in memory and speaks as kube-apiserver does. Disposing ends its watches in
 * good order and frees the port and the data directory.
 *
 * @throws DataDirInUse, JournalDamaged, or the system's error when the port is taken.
 */
export async function startMemoryApiServer(options: MemoryApiOptions): Promise<MemoryApiServer> {
  const { clock, log, tls, host, token } = options;
  await using cleanup = new AsyncDisposableStack();
  const dataDir = options.dataDir === undefined ? undefined : cleanup.use(openDataDir(options.dataDir));
  const kinds = new KindRegistry(options.kinds);
  const world = cleanup.use(startWorld({ clock, log, kinds, dataDir }));
  const server = tls ? createTlsServer({ ...httpLimits, ...tls }) : createServer(httpLimits);
  server.maxConnections = connectionsMax;
  const { port } = await listen(server, { host, port: options.port });

  const maxBodyBytes = options.maxBodyBytes ?? defaultBodyBytesMax;
  const services: Services = {
    access: { port, token },
    kinds,
    documents: new ServerDocuments(options.kinds),
    resources: new ResourceRequests({ ...world, clock, maxBodyBytes }),
    logs: { storage: world.storage, clock, source: options.podLogs },
  };
  server.on("request", (request, response) => void serve(request, response, services, log));
  cleanup.defer(() => close(server));
  cleanup.defer(() => world.watches.endAll());

  const disposables = cleanup.move();
  return {
    url: `${tls ? "https" : "http"}://${host}:${port}`,
    port,
    failed: world.failed,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** The one place where a refusal becomes an answer. */
async function serve(request: IncomingMessage, response: ServerResponse, services: Services, log: Logger) {
  const exchange = { request, response };
  try {
    const { method = "GET", url = "/" } = request;
    const answer = await handle({ ...exchange, ...readTarget(url), method }, services);
    if (answer !== streaming) send(exchange, answer);
  } catch (error) {
    // A client that left in the middle of its body needs no answer.
    if (response.destroyed) return;
    if (!(error instanceof StatusError)) log.error({ err: error, method: request.method }, "cannot answer a request");
    if (response.headersSent) return void response.destroy();
    send(exchange, refusalAnswer(error instanceof StatusError ? error : internalError("the log says more")));
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // By then the last words of the watches are with the operating system.
    setImmediate(() => server.closeAllConnections());
  });
}
