import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { guarded } from "../lib/guard/guard.ts";
import type { Logger } from "../lib/log/log.ts";
import { type LimitedConnections, limitConnections, strangerLimits } from "../lib/net/connection-limit.ts";
import { listen } from "../lib/net/listen.ts";
import type { Running } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import { readTarget, refusalAnswer, send, streaming } from "./http/exchange.ts";
import { PodLogs } from "./http/pod-logs.ts";
import { handle, type Services } from "./http/request-handler.ts";
import { ResourceRequests } from "./http/resource-requests.ts";
import { UnfinishedBodies } from "./http/unfinished-bodies.ts";
import { UnsentAnswers } from "./http/unsent-answers.ts";
import { KindRegistry } from "./kind-registry.ts";
import { ServerDocuments } from "./kinds/server-documents.ts";
import type { PodLogSource } from "./pod-log-source.ts";
import type { ServedKind } from "./served-kind.ts";
import { startObjectStore } from "./start-object-store.ts";
import { insufficientStorage, internalError, StatusError } from "./status-errors.ts";
import { openDataDir } from "./storage/data-dir.ts";
import { isFullDisk } from "./storage/journal-size.ts";
import { quotaForHeap } from "./storage/quota.ts";

export interface MemoryApiOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** A loopback address. */
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** PEM. Absent: plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The bearer token that callers must send. Absent: none is required. */
  readonly token?: string;
  /** The directory for the state, which then survives the process. Absent: the state is not stored. */
  readonly dataDir?: string;
  readonly kinds: readonly ServedKind[];
  /** The source of Pods' logs. Absent: `kubectl logs` is rejected. */
  readonly podLogs?: PodLogSource;
  /** Default: 3 MiB, which is etcd's limit with some room. */
  readonly maxBodyBytes?: number;
  /** What clients may not have read of their answers, in all. Default: 256 MiB, and less with a small heap. */
  readonly maxUnsentBytes?: number;
  /** What all objects may weigh: their bytes in JSON, and 100 for each value. Default: what fits into the heap. */
  readonly quotaBytes?: number | undefined;
}

export interface MemoryApiServer extends Running {
  readonly url: string;
  readonly port: number;
}

const defaultBodyBytesMax = 3 * 1024 * 1024;

// Every wait and input of a caller has a limit; a body must arrive within a minute.
const httpLimits: ServerOptions = {
  maxHeaderSize: 32 * 1024,
  ...strangerLimits,
  requestTimeout: 60_000,
  keepAliveTimeout: 90_000,
};
// All clients are on this machine, at one address.
const connectionsMax = { max: 5_000, perPeerMax: 5_000, answerTakenWithinMs: 60_000 };
const unsentAnswersMax = 256 * 1024 * 1024;

/**
 * Starts an API server that keeps its objects in memory and behaves like kube-apiserver. Disposing ends its watches
 * with a last bookmark, and releases the port and the data directory.
 *
 * @throws DataDirInUse, JournalDamaged, or the system's error when the port is in use.
 */
export async function startMemoryApiServer(options: MemoryApiOptions): Promise<MemoryApiServer> {
  const { clock, log, tls, host, token } = options;
  await using cleanup = new AsyncDisposableStack();
  const dataDir = options.dataDir === undefined ? undefined : cleanup.use(openDataDir(options.dataDir));
  const kinds = new KindRegistry(options.kinds);
  const objects = cleanup.use(startObjectStore({ clock, log, kinds, dataDir, quotaBytes: options.quotaBytes }));
  const server = tls ? createTlsServer({ ...httpLimits, ...tls }) : createServer(httpLimits);
  const connections = limitConnections(server, { ...connectionsMax, clock });
  const { port } = await listen(server, { host, port: options.port });

  const unsent = new UnsentAnswers(options.maxUnsentBytes ?? Math.min(unsentAnswersMax, quotaForHeap()));
  const bodies = new UnfinishedBodies(options.maxBodyBytes ?? defaultBodyBytesMax);
  const services: Services = {
    access: { port, tls: tls !== undefined, token },
    kinds,
    documents: new ServerDocuments(options.kinds),
    resources: new ResourceRequests({ ...objects, clock, bodies, unsent }),
    logs: new PodLogs({ storage: objects.storage, clock, source: options.podLogs }),
  };
  server.on(
    "request",
    guarded(
      "api-server",
      (request: IncomingMessage, response: ServerResponse) => serve({ request, response }, unsent, services, log),
      (_request, response) => response.destroy(),
    ),
  );
  cleanup.defer(() => close(server, connections));
  cleanup.defer(() => objects.watches.endAll());

  const disposables = cleanup.move();
  return {
    url: `${tls ? "https" : "http"}://${host}:${port}`,
    port,
    failed: objects.failed,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** The only place where a rejection becomes a response. */
async function serve(
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  unsent: UnsentAnswers,
  services: Services,
  log: Logger,
): Promise<void> {
  const { request, response } = exchange;
  try {
    const { method = "GET", url = "/" } = request;
    const answer = await handle({ ...exchange, ...readTarget(url), method }, services);
    // Changes have asked for room before they were stored.
    if (answer !== streaming) send(exchange, answer, { unsent, isStored: method !== "GET" });
  } catch (error) {
    // A client that disconnected during its body needs no response.
    if (response.destroyed) return;
    const rejection = rejectionFor(error);
    if (!rejection) log.error({ err: error, method: request.method }, "could not answer a request");
    if (response.headersSent) return void response.destroy();
    refuse(exchange, rejection ?? internalError("see the log of the API server"), unsent);
  }
}

/** Without room for a rejection that lists a thousand faults, its client is told to try again. */
function refuse(exchange: Parameters<typeof send>[0], rejection: StatusError, unsent: UnsentAnswers): void {
  try {
    send(exchange, refusalAnswer(rejection), { unsent, isStored: false });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    send(exchange, refusalAnswer(error), { unsent, isStored: false });
  }
}

/** The rejection that tells a client of this error; undefined if it is a fault of this program. */
function rejectionFor(error: unknown): StatusError | undefined {
  if (error instanceof StatusError) return error;
  return isFullDisk(error) ? insufficientStorage() : undefined;
}

function close(server: Server, connections: LimitedConnections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // By then the operating system has the last events of the watches.
    setImmediate(() => connections.closeAll());
  });
}
