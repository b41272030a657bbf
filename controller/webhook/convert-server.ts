import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { Counter, type Registry } from "prom-client";
import { keepShowing, type ShownCertificates, secretsOf } from "../../lib/certificates/certificate-source.ts";
import { guarded } from "../../lib/guard/guard.ts";
import type { Logger } from "../../lib/log/log.ts";
import { limitConnections, strangerLimits } from "../../lib/net/connection-limit.ts";
import { listen } from "../../lib/net/listen.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { BodyBudget, type BodyLimits, BodyRefused, type Hold } from "./body-budget.ts";
import { ConversionFailures } from "./conversion-failures.ts";
import { ReviewNotConverted } from "./converter.ts";
import { Converters } from "./converters.ts";
import { IgnoredStates } from "./ignored-states.ts";
import { PeerShares } from "./peer-shares.ts";
import { conversionPath } from "./trusted-authorities.ts";

export interface ConvertServerOptions {
  /** 0 is any that is free. */
  readonly port: number;
  readonly certificates: ShownCertificates;
  readonly clock: Clock;
  readonly log: Logger;
  /** For how long disposal still serves requests, each as the last one of its connection. */
  readonly lingerMs?: number | undefined;
  /** Where it is counted what could not be read or had no room. */
  readonly registry?: Registry | undefined;
  /** Absent: 3 MiB of one request, 16 MiB in all. */
  readonly bodies?: BodyLimits;
  /** Absent: each address has a share of its own. */
  readonly shares?: PeerShares | undefined;
}

export interface ConvertServer extends AsyncDisposable {
  /** Where it really listens. */
  readonly port: number;
}

// An API server gives a webhook 30 seconds. It keeps idle connections for 90, and must be the one who closes them: what
// it sends on a connection that is being closed would be lost.
const limits = { ...strangerLimits, requestTimeout: 30_000, keepAliveTimeout: 120_000, maxHeaderSize: 16_384 };
// The port is open to all. An API server behind one address has room for 256 connections, and so have the Pods of a namespace.
const connectionsMax = { max: 512, perPeerMax: 256, answerTakenWithinMs: 30_000 };
// The webhook responds to any client. An API server sends one object in a review, and stores none of more than 1.5 MiB. These limits and
// the heaps below are part of the memory that docs/operating.md names.
const bodyBytesMax = 3 * 1024 * 1024;
const bodyBytesTotalMax = 16 * 1024 * 1024;
const usualBodies: BodyLimits = { bytesMax: bodyBytesMax, bytesTotalMax: bodyBytesTotalMax };
// A review waits and is converted within the 30 seconds that an API server gives it. An object has a few KiB, so the API server's
// reviews wait for no large one.
const converterLimits = {
  smallBytesMax: 65_536,
  smallPartsMax: 2_048,
  smallNestingMax: 200,
  processesForSmall: 1,
  processesForLarge: 1,
  heapMegabytesForSmall: 32,
  // The largest object of an API server takes some 60 MB, whatever it has.
  heapMegabytesForLarge: 96,
  processesOfPeer: 1,
  forgivenPerSecond: 10,
  usedMsMax: 10_000,
  waitingMax: connectionsMax.max,
  waitingOfPeerMax: connectionsMax.perPeerMax,
  waitMs: 20_000,
  convertMs: 10_000,
};
// The time for clients to finish their requests when the webhook shuts down.
const shutdownGraceMs = 5_000;

/**
 * Serves `/convert` over HTTPS. A new certificate is shown to those who connect after it has come.
 *
 * @throws Error if the port cannot be used.
 */
export async function startConvertServer({
  port,
  certificates,
  clock,
  log,
  lingerMs = 0,
  registry,
  bodies = usualBodies,
  shares = new PeerShares(),
}: ConvertServerOptions): Promise<ConvertServer> {
  let leaving = false;
  const budget = new BodyBudget(bodies, clock);
  const states = new IgnoredStates({ registry, clock, log });
  const failures = new ConversionFailures({ registry, clock, log });
  const converters = new Converters(converterLimits, clock);
  const parts: ConvertParts = { budget, converters, states, failures };
  const convert = async (request: IncomingMessage, response: ServerResponse) => {
    using hold = budget.open(shares.of(request.socket.remoteAddress ?? ""));
    const left = () => hold.shed.abort(new BodyRefused(400, "the client left"));
    response.once("close", left);
    const made = await answerTo(request, hold, parts).catch((error: unknown) => refusalFor(error, hold, parts));
    response.off("close", left);
    // What is left of a refused body is not the next request, and a server that ends takes none.
    if (!request.complete || made.isLast || leaving) response.setHeader("connection", "close");
    await send(response, made, hold);
  };
  const cutOff = (_request: IncomingMessage, response: ServerResponse) => void response.destroy();
  const server = createServer({ ...limits, ...secretsOf(certificates) }, guarded("webhook", convert, cutOff));
  const shareOf = (address: string) => shares.of(address);
  const connections = limitConnections(server, { ...connectionsMax, clock, shareOf, onShed: countShed(registry) });
  // A client that breaks off its handshake is logged only for debugging.
  server.on("tlsClientError", (err) => log.debug({ err }, "a TLS handshake with the webhook failed"));
  const following = keepShowing(server, certificates);
  const where = await listen(server, { host: undefined, port }).catch(async (cause: Error) => {
    await converters[Symbol.asyncDispose]();
    throw new Error(`cannot serve the conversion webhook on :${port}: ${cause.message}`, { cause });
  });
  return {
    port: where.port,
    async [Symbol.asyncDispose]() {
      following[Symbol.dispose]();
      leaving = true;
      if (lingerMs > 0) await clock.sleep(lingerMs);
      using _deadline = clock.after(shutdownGraceMs, () => connections.closeAll());
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await converters[Symbol.asyncDispose]();
    },
  };
}

function countShed(registry: Registry | undefined): () => void {
  const shed = new Counter({
    name: "rouse_webhook_connections_shed_total",
    help: "Connections that the webhook closed because it had its maximum number of connections, in all (512) or of one client (256; all Pods of a namespace count as one client). The webhook closes an idle connection if there is one, otherwise another connection or the new one.",
    registers: registry ? [registry] : [],
  });
  return () => shed.inc();
}

interface Answer {
  readonly code: number;
  readonly contentType: "application/json" | "text/plain";
  readonly body: Uint8Array | string;
  /** The connection is closed after it. */
  readonly isLast?: boolean;
}

interface ConvertParts {
  readonly budget: BodyBudget;
  readonly converters: Converters;
  readonly states: IgnoredStates;
  readonly failures: ConversionFailures;
}

async function answerTo(request: IncomingMessage, hold: Hold, parts: ConvertParts): Promise<Answer> {
  const [path] = (request.url ?? "").split("?", 1);
  if (path !== conversionPath) return { code: 404, contentType: "text/plain", body: "not found\n" };
  if (request.method !== "POST") return { code: 405, contentType: "text/plain", body: "POST only\n" };
  const { budget, converters, states, failures } = parts;
  const body = await budget.read(request, hold);
  const { peer, shed } = hold;
  // What a process has is bounded by the number of processes.
  const review = { body, peer, signal: shed.signal, taken: () => hold.release() };
  const { about, answer } = await converters.convert(review);
  if (about.outcome === "refused") return { code: about.code, contentType: "text/plain", body: `${about.message}\n` };
  if (about.outcome === "failed") throw new ReviewNotConverted(500, about.message);
  states.record(about.ignored);
  if (about.failure !== undefined) failures.record(peer, `an object could not be converted: ${about.failure}`);
  return { code: 200, contentType: "application/json", body: answer };
}

function refusalFor(error: unknown, { peer }: Hold, { failures }: ConvertParts): Answer {
  if (error instanceof BodyRefused) return { code: error.code, contentType: "text/plain", body: `${error.message}\n` };
  if (!(error instanceof ReviewNotConverted)) throw error;
  failures.record(peer, error.message);
  return { code: error.code, contentType: "text/plain", body: `${error.message}\n`, isLast: true };
}

/** Writes an answer, which has room until it is taken; who takes it too slowly is cut off where others need the room. */
async function send(response: ServerResponse, { code, contentType, body }: Answer, hold: Hold): Promise<void> {
  if (response.destroyed) return;
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  const cut = () => void response.destroy();
  const bytes = Buffer.byteLength(body);
  if (!hold.answers(bytes, cut)) return cut();
  response.writeHead(code, { "content-type": contentType, "content-length": bytes }).end(body);
  await closed;
}
