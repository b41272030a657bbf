import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled } from "../../../test/support/proxy-path.ts";
import { toResponse } from "../../failures/error-response.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import { BufferLoans, ReadPlace } from "../../socket/read-place.ts";
import { Sweep } from "../../sweep.ts";
import type { Exchange } from "./exchange.ts";
import { HeadBudget } from "./head-budget.ts";
import { startHttp1Front } from "./http1-front.ts";

const kept = 16_384;
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";

/** A front that holds every request. */
async function openHolding(loans: BufferLoans) {
  const held: Exchange[] = [];
  const clients: Socket[] = [];
  const front = await startHttp1Front(
    {
      ...{ host: "127.0.0.1", port: 0, headersTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000 },
      ...{ streamIdleMs: 0, maxHeaderBytes: 65_536, maxConnections: 1_000 },
    },
    {
      ...{ clock: systemClock, sweep: new Sweep(systemClock), loans, heads: new HeadBudget() },
      serve: async (exchange) => void held.push(exchange),
      events: { connected() {}, disconnected() {}, dropped() {}, refused() {}, handshakeFailed() {}, overheadCut() {} },
    },
  );
  return {
    held,
    async say(bytes: string | Buffer) {
      const client = await dialled(front.address.port);
      clients.push(client);
      client.write(bytes);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await front[Symbol.asyncDispose]();
    },
  };
}

describe("the kept bytes of a held request", () => {
  it("are told as they grow to the part that limits them", async () => {
    await using front = await openHolding(new BufferLoans(0));
    const client = await front.say("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 100\r\n\r\n");
    await eventually(() => front.held.length === 1);
    const { keptBody } = front.held[0]?.head ?? {};
    let grown = keptBody?.keptBytes ?? 0;
    keptBody?.onGrowth((more) => (grown += more));
    for (const part of [60, 40]) client.write("x".repeat(part));
    await eventually(() => grown === 100);
    expect(keptBody?.keptBytes).toBe(100);
  });

  it.each([0, 64])(
    "is at most 16 KiB of its body, though all of it has come: with %i read buffers",
    async (buffers) => {
      const loans = new BufferLoans(buffers);
      await using front = await openHolding(loans);
      const body = Buffer.alloc(120_000, "x");
      for (let count = 0; count < 20; count += 1) {
        await front.say(`POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${body.length}\r\n\r\n${body.toString()}`);
      }
      await eventually(() => front.held.length === 20);
      await eventually(() => front.held.every(({ body: { keptBytes } }) => keptBytes > kept / 2));
      for (const {
        body: { keptBytes },
        connection,
      } of front.held) {
        expect(keptBytes).toBeLessThanOrEqual(kept);
        expect(connection.socket.bytesRead).toBeLessThanOrEqual(2 * kept);
      }
      expect(loans.lent).toBe(0);
    },
  );

  it("are one buffer of about the body's size, also for a body in small pieces", async () => {
    await using front = await openHolding(new BufferLoans(0));
    await front.say("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 16384\r\n\r\n");
    await eventually(() => front.held.length === 1);
    const body = front.held[0]?.body;
    const place = new ReadPlace(new BufferLoans(0), { readOn() {} });
    for (let at = 0; at < kept; at += 1) body?.take(place, Buffer.from([at & 255]), 0, 1);
    const poured: Buffer[] = [];
    body?.pourInto({
      wantsBody: true,
      bodyBytes() {},
      keptBytes: ({ bytes }) => void poured.push(bytes),
      bodyEnded() {},
    });
    expect(poured.map(({ length, buffer }) => [length, buffer.byteLength])).toEqual([[kept, kept]]);
    expect(poured[0]?.every((byte, at) => byte === (at & 255))).toBe(true);
  });

  it("are dropped when the request is rejected, before its client has read that", async () => {
    await using front = await openHolding(new BufferLoans(0));
    await front.say(`POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 9000\r\n\r\n${"x".repeat(8_000)}`);
    await eventually(() => front.held[0]?.body.keptBytes === 8_000);
    front.held[0]?.connection.socket.cork();
    front.held[0]?.answer(toResponse(new ActivatorError("WrongToken")));
    expect(front.held[0]?.body.keptBytes).toBe(0);
  });

  it.each([0, 64])(
    "are at most 16 KiB, or one read, of requests behind an upload: with %i read buffers",
    async (buffers) => {
      const loans = new BufferLoans(buffers);
      await using front = await openHolding(loans);
      const client = await front.say("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 3\r\n\r\na");
      await eventually(() => front.held.length === 1);
      const { body, connection: { socket } = {} } = front.held[0] ?? {};
      const sink = { wantsBody: true, bodyBytes() {}, keptBytes() {}, bodyEnded() {} };
      body?.pourInto(sink);
      client.write("b");
      await eventually(() => body?.length === 2);
      sink.wantsBody = false;
      const before = socket?.bytesRead ?? 0;
      await new Promise((resolve) => client.write(`c${get.repeat(4_000)}`, resolve));
      sink.wantsBody = true;
      socket?.readOn();
      const behind = () => (socket?.bytesRead ?? 0) - before - 1;
      await eventually(() => behind() >= kept);
      expect(behind()).toBeLessThanOrEqual(kept);
      expect(loans.lent).toBe(0);
    },
  );

  it("are at most 16 KiB beside a read buffer that was borrowed for an earlier upload", async () => {
    const loans = new BufferLoans(64);
    await using front = await openHolding(loans);
    const client = await front.say("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 40001\r\n\r\n");
    await eventually(() => front.held.length === 1);
    const { body, connection: { socket } = {} } = front.held[0] ?? {};
    body?.pourInto({ wantsBody: true, bodyBytes() {}, keptBytes() {}, bodyEnded() {} });
    client.write("x".repeat(40_000));
    await eventually(() => body?.length === 40_000);
    expect(loans.lent).toBe(1);
    client.write("xGET");
    await eventually(() => body?.complete === true);
    const before = socket?.bytesRead ?? 0;
    client.write(` ${"x".repeat(100_000)}`);
    await eventually(() => (socket?.bytesRead ?? 0) > before);
    expect((socket?.bytesRead ?? 0) - before).toBeLessThanOrEqual(kept);
  });

  it("are at most 16 KiB of pipelined requests", async () => {
    await using front = await openHolding(new BufferLoans(64));
    await front.say(get.repeat(10_000));
    await eventually(() => front.held.length === 1);
    const socket = front.held[0]?.connection.socket;
    await eventually(() => (socket?.bytesRead ?? 0) >= kept);
    expect(socket?.bytesRead).toBeLessThanOrEqual(2 * kept);
  });
});
