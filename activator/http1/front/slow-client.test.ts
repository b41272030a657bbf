import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { BufferLoans } from "../../socket/read-place.ts";
import { Sweep } from "../../sweep.ts";
import type { Exchange } from "./exchange.ts";
import { HeadBudget } from "./head-budget.ts";
import { startHttp1Front } from "./http1-front.ts";

const head = "HTTP/1.1 200 OK\r\nContent-Length: 16000000\r\n\r\n";
const body = "a".repeat(16_000_000); // more than the kernel keeps for a connection
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const upload = "POST / HTTP/1.1\r\nHost: nova\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
const options = {
  ...{ host: "127.0.0.1", port: 0, headersTimeoutMs: 10_000, maxHeaderBytes: 65_536, maxConnections: 10 },
  ...{ keepAliveTimeoutMs: 120_000, streamIdleMs: 3_600_000 },
};

interface World extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly client: Socket;
  /** All bytes of the response. */
  readonly size: number;
  /** What has come to the client, and how its connection ended. */
  readonly got: { bytes: number; end: string };
  /** Bytes that wait for the client. */
  waiting(): number;
  /** Whether all that the client has sent was read. */
  seen(): boolean;
}

type Writer = "a sandbox" | "us" | "us, after a sandbox had the request";

/** A client that reads nothing of a response whose end was written. `by`: a sandbox, or the activator itself. */
async function openSlowClient(by: Writer, request = get): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  const exchanges: Exchange[] = [];
  const serve = async (exchange: Exchange) => {
    exchanges.push(exchange);
    if (by !== "us") exchange.proxiedBy({ clientLeft() {}, clientDrained() {} });
    if (by !== "a sandbox") return exchange.answer({ status: 200, headers: [], body });
    const last = exchange.begin(200, false);
    exchange.connection.socket.write(head + body, "latin1");
    exchange.finish(last);
  };
  const events = {
    connected() {},
    disconnected() {},
    dropped() {},
    refused() {},
    handshakeFailed() {},
    overheadCut() {},
  };
  const parts = {
    clock,
    sweep: opened.use(new Sweep(clock)),
    loans: new BufferLoans(1),
    heads: new HeadBudget(),
    serve,
    events,
  };
  const { port } = opened.use(await startHttp1Front(options, parts)).address;
  const client = connect({ port, host: "127.0.0.1" });
  opened.defer(() => void client.destroy());
  const got = { bytes: 0, end: "" };
  client.on("data", (bytes: Buffer) => (got.bytes += bytes.length)).pause();
  client.on("error", (error: NodeJS.ErrnoException) => (got.end = error.code ?? ""));
  client.on("close", () => (got.end ||= "closed"));
  client.write(request);
  await eventually(() => exchanges[0]?.responded === true);
  const size = exchanges[0]?.connection.socket.bytesWritten ?? 0;
  const closing = opened.move();
  return {
    ...{ clock, client, got, size },
    waiting: () => exchanges[0]?.connection.socket.writableLength ?? 0,
    seen() {
      const { bytesRead = 0, readableEnded = false } = exchanges[0]?.connection.socket ?? {};
      return bytesRead === client.bytesWritten && readableEnded === client.writableFinished;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("a client that pauses after its sandbox has sent the whole response", () => {
  it("gets the rest after half an hour, and the connection is idle then", async () => {
    await using world = await openSlowClient("a sandbox");
    await world.clock.advance(1_800_000);
    expect(world.waiting()).toBeGreaterThan(0);
    world.client.resume();
    await eventually(() => world.got.bytes === world.size && world.waiting() === 0);
    await world.clock.advance(119_000);
    expect(world.got.end).toBe("");
    await world.clock.advance(2_000);
    await eventually(() => world.got.end === "closed");
  });

  it("is reset at the limit of a pause", async () => {
    await using world = await openSlowClient("a sandbox");
    await world.clock.advance(3_601_000);
    world.client.resume();
    await eventually(() => world.got.end !== "");
    expect(world.got.end).toBe("ECONNRESET");
  });
});

it.each(["us", "us, after a sandbox had the request"] as const)(
  "a client that does not read a response by %s is reset at the idle limit",
  async (by) => {
    await using world = await openSlowClient(by);
    await world.clock.advance(121_000);
    world.client.resume();
    await eventually(() => world.got.end !== "");
    expect(world.got.end).toBe("ECONNRESET");
  },
);

describe("a client that reads its answer slowly gets all of it", () => {
  it.each([
    { what: "it ends its side", by: "us", request: get },
    { what: "it ends its side within its body", by: "us", request: upload },
    { what: "it ends its side within its body", by: "a sandbox", request: upload },
    { what: "it goes on with a malformed body", by: "a sandbox", request: upload, more: "malformed\r\n" },
  ] as const)("although $what, by $by", async ({ by, request, ...given }) => {
    await using world = await openSlowClient(by, request);
    if ("more" in given) world.client.write(given.more);
    else world.client.end();
    await eventually(() => world.seen() || world.got.end !== "");
    await world.clock.advance(1_000);
    world.client.resume();
    await eventually(() => world.got.bytes === world.size || world.got.end !== "");
    expect(world.got.bytes).toBe(world.size);
  });
});
