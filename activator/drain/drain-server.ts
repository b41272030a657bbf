import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  drainPaths,
  listeningPortsLimit,
  parseActivityRequest,
  parseListeningPorts,
  parseObservedRequest,
  parsePromiseRequest,
} from "../../api/drain-protocol.ts";
import type { BindAddress } from "../../lib/bind-address.ts";
import { keepShowing, type ShownCertificates, secretsOf } from "../../lib/certificate-source.ts";
import { listen } from "../../lib/listen.ts";
import type { DrainDesk } from "./drain-desk.ts";

export interface DrainServerOptions {
  readonly address: BindAddress;
  /** Who we are to the controller, and the authority of those who may call; absent: plain HTTP, where everything is one machine. */
  readonly certificates: ShownCertificates | undefined;
  readonly desk: DrainDesk;
  /** Told of every call that was answered. */
  readonly onCall: (call: DrainCall, status: number) => void;
}

export interface DrainServer extends AsyncDisposable {
  readonly port: number;
}

export type DrainCall = keyof typeof drainPaths | "other";

/** The longest body of a question: names, UIDs and numbers. */
const bodyBytesMax = 16_384;
/** Of one that lists ports: each is two short names, a UID and a number. */
const listeningBytesMax = listeningPortsLimit * 128;
const requestTimeoutMs = 10_000;
/** Longer than between two reads of the activity, so that no question meets a connection that is being closed. */
const keepAliveMs = 75_000;

/**
 * Listens for the controller until it is disposed of.
 *
 * @throws Error when the port cannot be had.
 */
export async function startDrainServer(options: DrainServerOptions): Promise<DrainServer> {
  const { address, certificates } = options;
  const timeouts = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  };
  const answer = (request: IncomingMessage, response: ServerResponse) => void serve(request, response, options);
  const server = certificates
    ? createTlsServer({ ...timeouts, ...mutualTls, ...secretsOf(certificates) }, answer)
    : createPlainServer(timeouts, answer);
  const { port } = await listen(server, address);
  server.on("error", () => {}); // one connection that could not be accepted; the next may be
  const following =
    certificates && "setSecureContext" in server ? keepShowing(server, certificates, mutualTls) : undefined;
  return {
    port,
    async [Symbol.asyncDispose]() {
      following?.[Symbol.dispose]();
      await close(server);
    },
  };
}

const mutualTls = { minVersion: "TLSv1.3", requestCert: true, rejectUnauthorized: true } as const;

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

async function serve(request: IncomingMessage, response: ServerResponse, options: DrainServerOptions): Promise<void> {
  const { desk, onCall } = options;
  const call = callOf(request.url);
  const { status, body } = await answerTo(request, call, desk);
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
  const known: readonly (keyof typeof drainPaths)[] = ["observed", "promise", "activity", "listening"];
  return known.find((call) => drainPaths[call] === url) ?? "other";
}

async function answerTo(request: IncomingMessage, call: DrainCall, desk: DrainDesk): Promise<Answer> {
  if (call === "other") return refusal(404, "there is nothing here");
  if (request.method !== "POST") return refusal(405, "questions are POSTs");
  const value = await readJson(request, call === "listening" ? listeningBytesMax : bodyBytesMax);
  const body = value === undefined ? undefined : await ask(desk, call, value);
  return body ? { status: 200, body } : refusal(400, "this is no question of the drain protocol");
}

function ask(desk: DrainDesk, call: keyof typeof drainPaths, value: unknown): object | Promise<object> | undefined {
  switch (call) {
    case "observed": {
      const question = parseObservedRequest(value);
      return question && desk.observed(question);
    }
    case "promise": {
      const question = parsePromiseRequest(value);
      return question && desk.promise(question);
    }
    case "activity": {
      const question = parseActivityRequest(value);
      return question && desk.activity(question);
    }
    case "listening": {
      const question = parseListeningPorts(value);
      return question && desk.listening(question);
    }
  }
}

/** Undefined for what is too long, breaks off, or is no JSON. */
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
