import { expect, it } from "vitest";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { answerOf, openHttp2Client } from "../../test/support/http2-client.ts";
import { toResponse } from "../failures/error-response.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { HeadBudget } from "../http1/front/head-budget.ts";
import { startHttp1Front } from "../http1/front/http1-front.ts";
import { BufferLoans } from "../socket/read-place.ts";
import { Sweep } from "../sweep.ts";
import { Http2Front } from "./front/http2-front.ts";
import type { StreamExchange } from "./front/stream-exchange.ts";
import { WaitingBudget } from "./waiting-budget.ts";

/** A front that holds every stream. */
async function openHolding(stack: AsyncDisposableStack) {
  const held: StreamExchange[] = [];
  const options = {
    ...{ host: "127.0.0.1", port: 0, headersTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000 },
    ...{ streamIdleMs: 0, maxHeaderBytes: 65_536, maxConnections: 1_000 },
  };
  const sweep = stack.use(new Sweep(systemClock));
  const common = {
    clock: systemClock,
    sweep,
    heads: new HeadBudget(),
    waiting: new WaitingBudget({ stalledCut() {} }, sweep),
  };
  const ofConnections = { connected() {}, disconnected() {}, refused() {} };
  const http2 = new Http2Front(options, {
    ...common,
    serve: async (exchange) => void held.push(exchange),
    events: { ...ofConnections, streamRefused() {}, broke() {} },
  });
  const front = await startHttp1Front(options, {
    ...{ ...common, http2, loans: new BufferLoans(0), serve: async () => {} },
    events: { ...ofConnections, dropped() {}, handshakeFailed() {}, overheadCut() {} },
  });
  stack.use(front);
  stack.use(http2);
  return { held, port: front.address.port };
}

it("what is kept of the body of a held stream is told as it grows, and trailers count", async () => {
  await using stack = new AsyncDisposableStack();
  const { held, port } = await openHolding(stack);
  const client = stack.use(openHttp2Client(port));
  const upload = client.session.request({ ":path": "/", ":method": "POST" }, { waitForTrailers: true } as object);
  const answered = answerOf(upload);
  upload.write("x".repeat(1_000));
  await eventually(() => held[0]?.head.keptBody?.keptBytes === 1_000);
  let grown = 0;
  held[0]?.head.keptBody?.onGrowth((more) => (grown += more));
  upload.on("wantTrailers", () => upload.sendTrailers({ "x-checksum": "a".repeat(89) }));
  upload.end("y".repeat(30_000));
  await eventually(() => held[0]?.body.complete === true);
  expect(held[0]?.body.keptBytes).toBe(1_000 + grown);
  expect(grown).toBeGreaterThanOrEqual(30_000 + 89);
  held[0]?.answer(toResponse(new ActivatorError("AuthorizationUnavailable")));
  expect(held[0]?.body.keptBytes).toBe(0);
  expect(await answered).toMatchObject({ status: 503 });
});
