import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  drainPaths,
  listeningPortsLimit,
  parseActivityRequest,
  parseBusyRequest,
  parseListeningPorts,
  parseObservedRequest,
  parsePromiseRequest,
} from "../../api/between-programs/drain-protocol.ts";
import { keepShowing, type ShownCertificates, secretsOf } from "../../lib/certificates/certificate-source.ts";
import { guarded } from "../../lib/guard/guard.ts";
import type { BindAddress } from "../../lib/net/bind-address.ts";
import { type LimitedConnections, limitConnections, strangerLimits } from "../../lib/net/connection-limit.ts";
import { listen } from "../../lib/net/listen.ts";
import { workloadsAskedMax } from "./busy-prober.ts";
import type { DrainHandlers } from "./drain-handlers.ts";

export interface DrainServerOptions {
  readonly address: BindAddress;
  /** Server certificate and client CA (mTLS). Absent: plain HTTP, loopback only. */
  readonly certificates: ShownCertificates | undefined;
  readonly handlers: DrainHandlers;
  /** Called after each answered request. */
  readonly onCall: (call: DrainCall, status: number) => void;
}

export interface DrainServer extends AsyncDisposable {
  readonly port: number;
}

export type DrainCall = keyof typeof drainPaths | "other";

/** The maximum body of a request, in bytes: names, UIDs and numbers. */
const bodyBytesMax = 16_384;
/** The maximum body of a request that lists ports: two short names, a UID and a number for each. */
const listeningBytesMax = listeningPortsLimit * 128;
const requestTimeoutMs = 10_000;
/**
 * The maximum number of connections. A controller sends a few requests at a time to each activator, and as many busy probes as
 * an activator runs, each of which takes seconds. While a controller is replaced there are two.
 */
const connectionsMax = {
  max: 256 + 2 * workloadsAskedMax,
  perPeerMax: 128 + workloadsAskedMax,
  answerTakenWithinMs: 10_000,
};
/** Longer than the interval between two reads of the activity, so that no request arrives on a connection that is being closed. */
const keepAliveMs = 75_000;

/**
 * Listens for the controller until disposed of.
 *
 * @throws Error if it cannot listen on the port.
 */
export async function startDrainServer(options: DrainServerOptions): Promise<DrainServer> {
  const { address, certificates } = options;
  const timeouts = {
    ...strangerLimits,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  };
  const answer = guarded(
    "drain",
    (request: IncomingMessage, response: ServerResponse) => serve(request, response, options),
    (_request, response) => response.destroy(),
  );
  const server = certificates
    ? createTlsServer({ ...timeouts, ...mutualTls, ...secretsOf(certificates) }, answer)
    : createPlainServer(timeouts, answer);
  const connections = limitConnections(server, connectionsMax);
  const { port } = await listen(server, address);
  const following =
    certificates && "setSecureContext" in server ? keepShowing(server, certificates, mutualTls) : undefined;
  return {
    port,
    async [Symbol.asyncDispose]() {
      following?.[Symbol.dispose]();
      await close(server, connections);
    },
  };
}

const mutualTls = { minVersion: "TLSv1.3", requestCert: true, rejectUnauthorized: true } as const;

async function close(server: Server, connections: LimitedConnections): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  connections.closeAll();
  await closed;
}

async function serve(request: IncomingMessage, response: ServerResponse, options: DrainServerOptions): Promise<void> {
  const { handlers, onCall } = options;
  const call = callOf(request.url);
  const { status, body } = await answerTo(request, call, handlers);
  onCall(call, status);
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

const refusal = (status: number, detail: string): Answer => ({ status, body: { detail } });

function callOf(url: string | undefined): DrainCall {
  const known: readonly (keyof typeof drainPaths)[] = ["observed", "promise", "activity", "listening", "busy"];
  return known.find((call) => drainPaths[call] === url) ?? "other";
}

async function answerTo(request: IncomingMessage, call: DrainCall, handlers: DrainHandlers): Promise<Answer> {
  if (call === "other") return refusal(404, "there is nothing here");
  if (request.method !== "POST") return refusal(405, "questions are POSTs");
  const value = await readJson(request, call === "listening" ? listeningBytesMax : bodyBytesMax);
  const body = value === undefined ? undefined : await ask(handlers, call, value);
  return body ? { status: 200, body } : refusal(400, "this is no question of the drain protocol");
}

function ask(
  handlers: DrainHandlers,
  call: keyof typeof drainPaths,
  value: unknown,
): object | Promise<object> | undefined {
  switch (call) {
    case "observed": {
      const question = parseObservedRequest(value);
      return question && handlers.observed(question);
    }
    case "promise": {
      const question = parsePromiseRequest(value);
      return question && handlers.promise(question);
    }
    case "activity": {
      const question = parseActivityRequest(value);
      return question && handlers.activity(question);
    }
    case "listening": {
      const question = parseListeningPorts(value);
      return question && handlers.listening(question);
    }
    case "busy": {
      const question = parseBusyRequest(value);
      return question && handlers.busy(question);
    }
  }
}

/** Undefined if the body is too long, incomplete, or no JSON. */
async function readJson(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of request) {
      const bytes = Buffer.from(piece);
      length += bytes.length;
      if (length > bytesMax) return undefined;
      pieces.push(bytes);
    }
    return JSON.parse(Buffer.concat(pieces).toString("utf8"));
  } catch {
    return undefined;
  }
}
