import { createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock, systemClock } from "../../lib/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { dial } from "../reach/dial.ts";
import type { RequestHead } from "../request.ts";
import { keepAliveMs, Pool } from "./pool.ts";

const target = { podUid: "p1", port: 80 };
const ask = (method: string): RequestHead => ({
  ...{ method, target: "/", host: "", peer: "" },
  headers: [],
  upgrade: false,
});

async function connection() {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer(accepted.resolve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  const never = new AbortController().signal;
  const socket = await dial({ ip: "127.0.0.1", port: address.port }, 5_000, systemClock, never);
  const far = await accepted.promise;
  server.close();
  return { socket, far, [Symbol.dispose]: () => far.destroy() };
}

describe("an idle connection", () => {
  it("serves the next safe request, once", async () => {
    using pool = new Pool(2, new FakeClock());
    using idle = await connection();
    const listeners = () => idle.socket.eventNames().map((name) => [name, idle.socket.listenerCount(name)]);
    const before = listeners();
    pool.put(target, idle.socket, undefined);
    expect(pool.take(target, ask("POST"))).toBeUndefined();
    expect(pool.take({ ...target, podUid: "p2" }, ask("GET"))).toBeUndefined();
    expect(pool.take(target, ask("GET"))).toBe(idle.socket);
    expect(pool.take(target, ask("GET"))).toBeUndefined();
    expect(listeners()).toEqual(before);
  });

  it("serves any request well within the time that its server named, and closes before that is over", async () => {
    const clock = new FakeClock();
    using pool = new Pool(2, clock);
    using idle = await connection();
    pool.put(target, idle.socket, keepAliveMs("timeout=10, max=100"));
    await clock.advance(4_900);
    const taken = pool.take(target, ask("POST"));
    expect(taken).toBe(idle.socket);
    pool.put(target, idle.socket, 10_000);
    await clock.advance(5_000);
    expect(idle.socket.destroyed).toBe(true);
    await eventually(() => pool.size === 0);
    expect(clock.pending).toBe(0);
  });

  it("is closed when its Pod is gone, when its server closes it, and when its server speaks unasked", async () => {
    using pool = new Pool(3, new FakeClock());
    using first = await connection();
    using second = await connection();
    using third = await connection();
    for (const [at, { socket }] of [first, second, third].entries())
      pool.put({ podUid: `p${at}`, port: 80 }, socket, 9_000);
    pool.forgetPod("p0");
    second.far.end();
    third.far.write("HTTP/1.1 408 ");
    await eventually(() => [first, second, third].every(({ socket }) => socket.destroyed) && pool.size === 0);
  });
});
