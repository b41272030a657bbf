import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import type { Registry } from "prom-client";
import { convertReview, NoConversionReview, parseConversionReview } from "../../api/conversion/conversion-review.ts";
import type { ConvertibleKind } from "../../api/conversion/convert.ts";
import { keepShowing, type ShownCertificates, secretsOf } from "../../lib/certificate-source.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Running } from "../../lib/lifecycle.ts";
import { failureOf, listen } from "../../lib/listen.ts";
import type { Logger } from "../../lib/log.ts";
import { BodyBudget, BodyRefused } from "./body-budget.ts";
import { IgnoredStates } from "./ignored-states.ts";
import { conversionPath } from "./trusted-authorities.ts";

export interface ConvertServerOptions {
  /** 0 is any that is free. */
  readonly port: number;
  readonly certificates: ShownCertificates;
  readonly kinds: readonly ConvertibleKind[];
  readonly clock: Clock;
  readonly log: Logger;
  /** How long disposal goes on answering, each time on the connection's last request. */
  readonly lingerMs?: number | undefined;
  /** Where it is counted what could not be read. */
  readonly registry?: Registry | undefined;
}

export interface ConvertServer extends Running {
  /** Where it really listens. */
  readonly port: number;
}

// An API server gives a webhook 30 seconds. It keeps idle connections for 90, and must be the one who closes them: what
// it sends on a connection that is being closed would be lost.
const limits = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 120_000, maxHeaderSize: 16_384 };
const connectionsMax = 256;
// The webhook answers whoever reaches it. A list of 10 000 objects has tens of megabytes.
const bodyBytesMax = 64 * 1024 * 1024;
const bodyBytesInHandMax = 128 * 1024 * 1024;
// How long whoever is sending may go on when the webhook ends.
const farewellMs = 5_000;

/**
 * Serves `/convert` over HTTPS. A new certificate is shown to those who connect after it has come.
 *
 * @throws Error when the port cannot be had.
 */
export async function startConvertServer({
  port,
  certificates,
  kinds,
  clock,
  log,
  lingerMs = 0,
  registry,
}: ConvertServerOptions): Promise<ConvertServer> {
  let leaving = false;
  const budget = new BodyBudget({ bytesMax: bodyBytesMax, bytesInHandMax: bodyBytesInHandMax });
  const states = new IgnoredStates({ registry, clock, log });
  const server = createServer({ ...limits, ...secretsOf(certificates) }, async (request, response) => {
    const made = await answer(request, { budget, kinds, states }).catch((error: unknown) => refusalFor(error, log));
    // What is left of a refused body is not the next request, and a server that ends takes none.
    if (!request.complete || leaving) response.setHeader("connection", "close");
    const { code, contentType, body } = made;
    response.writeHead(code, { "content-type": contentType, "content-length": Buffer.byteLength(body) }).end(body);
  });
  server.maxConnections = connectionsMax;
  // A client that breaks off its handshake is no news.
  server.on("tlsClientError", (err) => log.debug({ err }, "a TLS handshake with the webhook failed"));
  const following = keepShowing(server, certificates);
  const where = await listen(server, { host: undefined, port }).catch((cause: Error) => {
    throw new Error(`cannot serve the conversion webhook on :${port}: ${cause.message}`, { cause });
  });
  return {
    failed: failureOf(server),
    port: where.port,
    async [Symbol.asyncDispose]() {
      following[Symbol.dispose]();
      leaving = true;
      if (lingerMs > 0) await clock.sleep(lingerMs);
      using _deadline = clock.after(farewellMs, () => server.closeAllConnections());
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Answer {
  readonly code: number;
  readonly contentType: "application/json" | "text/plain";
  readonly body: string;
}

interface Desk {
  readonly budget: BodyBudget;
  readonly kinds: readonly ConvertibleKind[];
  readonly states: IgnoredStates;
}

async function answer(request: IncomingMessage, { budget, kinds, states }: Desk): Promise<Answer> {
  const [path] = (request.url ?? "").split("?", 1);
  if (path !== conversionPath) return { code: 404, contentType: "text/plain", body: "not found\n" };
  if (request.method !== "POST") return { code: 405, contentType: "text/plain", body: "POST only\n" };
  using body = await budget.read(request);
  const ignored: string[] = [];
  const answered = convertReview(parseConversionReview(parseJson(body.text)), kinds, ignored);
  states.tell(ignored);
  return { code: 200, contentType: "application/json", body: JSON.stringify(answered) };
}

function refusalFor(error: unknown, log: Logger): Answer {
  if (error instanceof BodyRefused) return { code: error.code, contentType: "text/plain", body: `${error.message}\n` };
  if (error instanceof NoConversionReview) return { code: 400, contentType: "text/plain", body: `${error.message}\n` };
  log.error({ err: error }, "a conversion failed unexpectedly");
  return { code: 500, contentType: "text/plain", body: "internal error\n" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NoConversionReview("the body is no JSON", { cause });
  }
}
