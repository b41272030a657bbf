import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { waiting } from "../../test/support/waiting.ts";
import { BodyBudget, BodyRefused, type Hold } from "./body-budget.ts";

/** A server that holds each body until the test releases it, and responds with its length or the error. */
async function openServer(budget: BodyBudget) {
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const server = createServer(async (asked, response) => {
    try {
      using hold = budget.open(asked.socket.remoteAddress ?? "");
      const body = await budget.read(asked, hold);
      await released;
      response.end(String(body.length));
    } catch (error) {
      response.writeHead(error instanceof BodyRefused ? error.code : 500, { connection: "close" }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const post = (body: string) => fetch(`http://127.0.0.1:${port}`, { method: "POST", body });
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, post, letGo, [Symbol.asyncDispose]: close };
}

describe("the budget for bodies", () => {
  it("refuses a body that is too large", async () => {
    await using server = await openServer(new BodyBudget({ bytesMax: 10, bytesTotalMax: 100 }, new FakeClock()));
    server.letGo();
    expect((await server.post("x".repeat(11))).status).toBe(413);
    expect(await (await server.post("x".repeat(10))).text()).toBe("10");
  });

  it("refuses what there is no room for beside the others, until those are answered", async () => {
    const budget = new BodyBudget({ bytesMax: 10, bytesTotalMax: 15 }, new FakeClock());
    await using server = await openServer(budget);
    const first = server.post("x".repeat(10));
    await vi.waitFor(() => expect(budget.bytesTotal).toBe(10), waiting);
    expect((await server.post("x".repeat(10))).status).toBe(503);
    server.letGo();
    expect((await first).status).toBe(200);
    expect((await server.post("x".repeat(10))).status).toBe(200);
    expect(budget.bytesTotal).toBe(0);
  });

  it("forgets a body whose client leaves", async () => {
    const budget = new BodyBudget({ bytesMax: 10, bytesTotalMax: 10 }, new FakeClock());
    await using server = await openServer(budget);
    server.letGo();
    const headers = { "content-length": 10 };
    const leaving = request({ host: "127.0.0.1", port: server.port, method: "POST", headers });
    leaving.on("error", () => {});
    leaving.write("x".repeat(5));
    await vi.waitFor(() => expect(budget.bytesTotal).toBe(5), waiting);
    leaving.destroy();
    await vi.waitFor(() => expect(budget.bytesTotal).toBe(0), waiting);
  });

  it("takes no more memory for a body in many small pieces than for one large piece", async () => {
    const budget = new BodyBudget({ bytesMax: 100, bytesTotalMax: 100 }, new FakeClock());
    using hold = budget.open("a");
    const pieces = Readable.from(
      Array.from({ length: 100 }, (_, at) => Buffer.from([at])),
    ) as unknown as IncomingMessage;
    const body = await budget.read(pieces, hold);
    expect(body).toEqual(Buffer.from(Array.from({ length: 100 }, (_, at) => at)));
    expect(body.buffer.byteLength).toBeLessThanOrEqual(16 * 1024);
  });
});

describe("where there is no room for the next byte", () => {
  const limits = { bytesMax: 20_000_000, bytesTotalMax: 30_000_000 };
  const isShed = ({ shed }: Hold) => shed.signal.aborted;
  const reading = (budget: BodyBudget, peer: string, bytes: number) => {
    const hold = budget.open(peer);
    hold.grow(bytes);
    return hold;
  };

  it("sheds the body that has stood still longest, not the one that sends", async () => {
    const clock = new FakeClock();
    const budget = new BodyBudget(limits, clock);
    const first = reading(budget, "a", 10_000_000);
    await clock.advance(500);
    const second = reading(budget, "b", 20_000_000);
    await clock.advance(1_001);
    const third = reading(budget, "c", 5_000_000);
    expect([first, second, third].map(isShed)).toEqual([true, false, false]);
    expect(budget.bytesTotal).toBe(25_000_000);
    expect(() => first.grow(1)).toThrow("too many bodies at once");
  });

  it("sheds a body that comes byte by byte", async () => {
    const clock = new FakeClock();
    const budget = new BodyBudget(limits, clock);
    const slow = reading(budget, "a", 1_000_000);
    const other = reading(budget, "b", 20_000_000);
    for (let second = 0; second < 4; second += 1) {
      await clock.advance(1_000);
      slow.grow(1);
      other.grow(0);
    }
    other.stage = "waiting";
    reading(budget, "c", 9_500_000);
    expect([slow, other].map(isShed)).toEqual([true, false]);
  });

  it("sheds no request that holds no bytes any more, however long it stands still", async () => {
    const clock = new FakeClock();
    const budget = new BodyBudget(limits, clock);
    const released = reading(budget, "a", 10_000_000);
    released.release();
    await clock.advance(1_001);
    const going = reading(budget, "b", 20_000_000);
    reading(budget, "c", 11_000_000);
    expect([released, going].map(isShed)).toEqual([false, true]);
  });

  it("sheds something of the peer that holds most where all go on", () => {
    const budget = new BodyBudget(limits, new FakeClock());
    const modest = reading(budget, "a", 9_000_000);
    const [one, other] = [reading(budget, "b", 10_000_000), reading(budget, "b", 10_000_000)];
    other.stage = "waiting";
    reading(budget, "c", 5_000_000);
    expect([modest, one, other].map(isShed)).toEqual([false, true, false]);
  });

  it("sheds what waits for its turn when its peer holds most and has nothing else", () => {
    const budget = new BodyBudget(limits, new FakeClock());
    const whole = [reading(budget, "a", 15_000_000), reading(budget, "a", 15_000_000)];
    for (const hold of whole) hold.stage = "waiting";
    reading(budget, "b", 1_000_000);
    expect(whole.map(isShed)).toEqual([true, false]);
  });

  it("refuses the newest body of a peer that holds most with bodies that have come whole", () => {
    const budget = new BodyBudget(limits, new FakeClock());
    const whole = reading(budget, "a", 20_000_000);
    whole.stage = "waiting";
    expect(() => reading(budget, "a", 11_000_000)).toThrow("too many bodies at once");
    expect(isShed(whole)).toBe(false);
  });

  it("cuts off a response that its client does not read", async () => {
    const clock = new FakeClock();
    const budget = new BodyBudget(limits, clock);
    const hold = budget.open("a");
    const cut = vi.fn();
    expect(hold.answers(30_000_000, cut)).toBe(true);
    await clock.advance(1_001);
    reading(budget, "b", 1);
    expect(cut).toHaveBeenCalledOnce();
  });
});
