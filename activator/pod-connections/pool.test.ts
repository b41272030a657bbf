import { createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { asSocket, FakeWire } from "../../test/http1/schedules/fake-wire.ts";
import { eventually } from "../../test/support/eventually.ts";
import { dial } from "../connect/dial.ts";
import type { RequestHead } from "../request.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { idleLimits } from "./idle-limits.ts";
import { keepAliveMs, Pool } from "./pool.ts";

const target = { namespace: "default", podUid: "p1", ip: "10.0.0.1", port: 80 };
const ask = (method: string): RequestHead => ({
  ...{ method, protocol: "HTTP/1.1", target: "/", host: "", peer: "" },
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
  const errors: (string | undefined)[] = [];
  const far = (await accepted.promise).on("error", ({ code }: NodeJS.ErrnoException) => errors.push(code));
  server.close();
  return { socket, far, errors, [Symbol.dispose]: () => far.destroy() };
}

/** Ends a request on that connection. */
const put = (pool: Pool, place: typeof target, socket: WireSocket, saidMs: number | undefined) =>
  pool.put(pool.begin(place, 0), socket, saidMs, false);

describe("a connection that cannot be kept", () => {
  it.each([
    { what: "it is closed already", longest: 2, saidMs: undefined, closes: true },
    { what: "none is to be kept", longest: 0, saidMs: undefined, closes: false },
    { what: "its server keeps it for no time", longest: 2, saidMs: 0, closes: false },
  ])("leaves no entry of its Pod, when $what", async ({ longest, saidMs, closes }) => {
    using pool = new Pool(idleLimits(longest), new FakeClock());
    using idle = await connection();
    if (closes) idle.socket.destroy();
    put(pool, target, idle.socket, saidMs);
    expect(pool.pods).toBe(0);
    expect(idle.socket.destroyed).toBe(true);
  });
});

it("an idle connection whose end was reported serves no request, while that end is checked for a reset", async () => {
  using pool = new Pool(idleLimits(2), new FakeClock());
  using idle = await connection();
  put(pool, target, idle.socket, 9_000);
  idle.socket.readOn();
  idle.far.end();
  while (!idle.socket.isEndChecked) await new Promise((resolve) => setImmediate(resolve));
  expect(idle.socket.destroyed).toBe(false); // the second read is due in the next turn
  expect(pool.take(target, ask("GET"))).toBeUndefined();
});

it("a Pod without connections may go", () => {
  using pool = new Pool(idleLimits(2), new FakeClock());
  pool.forgetAddress(target);
  expect(pool.pods).toBe(0);
});

describe("idle connections beyond a limit", () => {
  const limits = { perPort: 2, perPod: 3, perNamespace: 4, total: 5 };

  it.each([
    { of: "one port", max: 2, place: () => ({}) },
    { of: "one Pod", max: 3, place: (at: number) => ({ port: at }) },
    { of: "one namespace", max: 4, place: (at: number) => ({ podUid: `p${at}` }) },
    { of: "the replica", max: 5, place: (at: number) => ({ podUid: `p${at}`, namespace: `n${at}` }) },
  ])("to $of close the one that has been idle for longest", async ({ max, place }) => {
    using pool = new Pool(limits, new FakeClock());
    using opened = new DisposableStack();
    const sockets: WireSocket[] = [];
    for (let at = 0; at < 7; at += 1) {
      const { socket } = opened.use(await connection());
      sockets.push(socket);
      put(pool, { ...target, ...place(at) }, socket, 9_000);
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual(sockets.map((_, at) => at < 7 - max));
    expect([pool.size, pool.evicted]).toEqual([max, 7 - max]);
  });

  it("are counted without those in use, and leave no entry of their Pod or namespace", async () => {
    const clock = new FakeClock();
    using pool = new Pool({ ...limits, perPort: 1 }, clock);
    using first = await connection();
    using second = await connection();
    put(pool, target, first.socket, 9_000);
    expect(pool.take(target, ask("GET"))).toBe(first.socket);
    put(pool, target, second.socket, 9_000);
    expect([pool.size, pool.evicted, first.socket.destroyed]).toEqual([1, 0, false]);
    put(pool, target, first.socket, 9_000);
    expect([pool.size, pool.evicted, second.socket.destroyed]).toEqual([1, 1, true]);
    expect(pool.take(target, ask("GET"))).toBe(first.socket);
    await clock.advance(200);
    expect([pool.pods, pool.namespaces, clock.pending]).toEqual([0, 0, 0]);
  });

  it("are never so many that clients get no socket", () => {
    expect(idleLimits(20)).toEqual({ perPort: 20, perPod: 100, perNamespace: 5_000, total: 10_000 });
    expect(idleLimits(200, 1_000)).toEqual({ perPort: 200, perPod: 100, perNamespace: 250, total: 250 });
  });
});

describe("the connections of a crowd", () => {
  async function crowdOf(pool: Pool, size: number, hadBody = false) {
    const opened = new DisposableStack();
    const ends: Awaited<ReturnType<typeof connection>>[] = [];
    for (let at = 0; at < size; at += 1) ends.push(opened.use(await connection()));
    const requests = ends.map(({ socket }) => ({ socket, shelf: pool.begin(target, 0) }));
    for (const { socket, shelf } of requests) pool.put(shelf, socket, 180_000, hadBody);
    const closed = () => ends.filter(({ socket }) => socket.destroyed).length;
    return { closed, errors: () => ends.flatMap(({ errors }) => errors), [Symbol.dispose]: () => opened.dispose() };
  }

  it("are all kept, and serve the next crowd of that size", async () => {
    using pool = new Pool(idleLimits(5_000), new FakeClock());
    using _crowd = await crowdOf(pool, 64);
    expect([pool.size, pool.evicted]).toEqual([64, 0]);
    const taken = new Set(Array.from({ length: 64 }, () => pool.take(target, ask("POST"))));
    expect(taken.size).toBe(64);
    expect(pool.take(target, ask("POST"))).toBeUndefined();
  });

  it("are ended, not reset, if their last requests had bodies, which their programs may still have to read", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    using crowd = await crowdOf(pool, 30, true);
    await clock.advance(20_000);
    expect(pool.size).toBe(20);
    await eventually(() => crowd.closed() === 10);
    expect(crowd.errors()).toEqual([]);
  });

  it("are reset after 5 to 10 s without need, but for the last 20", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    using crowd = await crowdOf(pool, 30);
    await clock.advance(4_900);
    expect(pool.size).toBe(30);
    await clock.advance(5_200);
    expect([pool.size, pool.evicted]).toEqual([20, 0]);
    await eventually(() => crowd.errors().length === 10);
    expect(new Set(crowd.errors())).toEqual(new Set(["ECONNRESET"]));
    await clock.advance(90_000);
    expect([pool.size, pool.pods, clock.pending]).toEqual([0, 0, 0]);
  });

  it("are never more than --max-idle-upstream allows", async () => {
    using pool = new Pool(idleLimits(25), new FakeClock());
    using crowd = await crowdOf(pool, 30);
    expect([pool.size, pool.evicted]).toEqual([25, 5]);
    await eventually(() => crowd.errors().length === 5);
  });

  it("lose one a second while requests are in progress, for a server that serves one at a time", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(5_000), clock);
    using opened = new DisposableStack();
    const shelves = Array.from({ length: 8 }, () => pool.begin(target, 0));
    for (const shelf of shelves.slice(0, 5)) pool.put(shelf, opened.use(await connection()).socket, 180_000, false);
    for (const left of [5, 4, 3]) {
      expect(pool.size).toBe(left);
      await clock.advance(1_000);
    }
  });

  it("are as few as its requests at a time, when each needs a new connection", async () => {
    using pool = new Pool(idleLimits(5_000), new FakeClock());
    using opened = new DisposableStack();
    for (let at = 0; at < 30; at += 1) put(pool, target, opened.use(await connection()).socket, undefined);
    expect([pool.size, pool.evicted]).toEqual([20, 10]);
  });

  it("are not counted any more when they were not kept", () => {
    using pool = new Pool(idleLimits(5_000), new FakeClock());
    const shelves = Array.from({ length: 30 }, () => pool.begin(target, 0));
    expect(pool.pods).toBe(1);
    for (const shelf of shelves) pool.end(shelf);
    expect(pool.pods).toBe(0);
  });
});

class CountedWire extends FakeWire {
  static looks = 0;

  override get writable(): boolean {
    CountedWire.looks += 1;
    return super.writable;
  }
}

/** The monotonic time of a process that was slow: its timers are late. */
class LateTimers extends FakeClock {
  lateMs = 0;

  override ticksMs(): number {
    return super.ticksMs() + this.lateMs;
  }
}

/** As many idle connections as given, to one port. */
function idleWires(pool: Pool, saidMs: readonly (number | undefined)[]): FakeWire[] {
  const begun = saidMs.map((said) => ({ said, shelf: pool.begin(target, 0), wire: new CountedWire() }));
  for (const { said, shelf, wire } of begun) pool.put(shelf, asSocket(wire), said, false);
  return begun.map(({ wire }) => wire);
}

describe("the search for an idle connection", () => {
  it("looks at one, for a POST too, however many others have no stated timeout", () => {
    using pool = new Pool(idleLimits(5_000), new FakeClock());
    const [stated] = idleWires(pool, [9_000, ...Array.from({ length: 999 }, () => undefined)]);
    expect(pool.size).toBe(1_000);
    CountedWire.looks = 0;
    expect(pool.take(target, ask("POST"))).toBe(stated);
    expect(pool.take(target, ask("POST"))).toBeUndefined();
    expect(CountedWire.looks).toBe(1);
  });

  it("closes those whose time has passed, so that none is looked at twice", () => {
    const clock = new LateTimers();
    using pool = new Pool(idleLimits(5_000), clock);
    const wires = idleWires(
      pool,
      Array.from({ length: 10 }, () => 9_000),
    );
    clock.lateMs = 10_000;
    expect(pool.take(target, ask("POST"))).toBeUndefined();
    expect(wires.every(({ destroyed }) => destroyed)).toBe(true);
    expect([pool.size, pool.pods]).toEqual([0, 0]);
  });
});

describe("an address that its Pod has lost", () => {
  it("loses its idle connections, and the Pod keeps those to another address", async () => {
    using pool = new Pool(idleLimits(3), new FakeClock());
    using former = await connection();
    using other = await connection();
    const elsewhere = { ...target, ip: "10.0.0.2" };
    put(pool, target, former.socket, 9_000);
    put(pool, elsewhere, other.socket, 9_000);
    expect(pool.take(elsewhere, ask("GET"))).toBe(other.socket);
    put(pool, elsewhere, other.socket, 9_000);
    pool.forgetAddress(target);
    expect([former.socket.destroyed, other.socket.destroyed]).toEqual([true, false]);
  });

  it("keeps no connection whose request ends later, though the Pod gets the address back", async () => {
    using pool = new Pool(idleLimits(3), new FakeClock());
    using used = await connection();
    const shelf = pool.begin(target, 0);
    pool.forgetAddress(target);
    const again = pool.begin(target, 0);
    pool.put(shelf, used.socket, 9_000, false);
    expect(used.socket.destroyed).toBe(true);
    pool.end(again);
    expect([pool.size, pool.pods]).toEqual([0, 0]);
  });
});

describe("an idle connection", () => {
  it("serves the next safe request, once", async () => {
    using pool = new Pool(idleLimits(2), new FakeClock());
    using idle = await connection();
    const listeners = () => idle.socket.eventNames().map((name) => [name, idle.socket.listenerCount(name)]);
    const before = listeners();
    put(pool, target, idle.socket, undefined);
    expect(pool.take(target, ask("POST"))).toBeUndefined();
    expect(pool.take({ ...target, podUid: "p2" }, ask("GET"))).toBeUndefined();
    expect(pool.take(target, ask("GET"))).toBe(idle.socket);
    expect(pool.take(target, ask("GET"))).toBeUndefined();
    expect(listeners()).toEqual(before);
  });

  it("serves any request well within its server's timeout, and is closed before that", async () => {
    const clock = new FakeClock();
    using pool = new Pool(idleLimits(2), clock);
    using idle = await connection();
    put(pool, target, idle.socket, keepAliveMs("timeout=10, max=100"));
    await clock.advance(4_900);
    const taken = pool.take(target, ask("POST"));
    expect(taken).toBe(idle.socket);
    put(pool, target, idle.socket, 10_000);
    await clock.advance(5_000);
    expect(idle.socket.destroyed).toBe(true);
    await eventually(() => pool.size === 0);
    expect(clock.pending).toBe(0);
  });

  it("is closed when its Pod is gone, its server closes it, or its server sends unrequested data", async () => {
    using pool = new Pool(idleLimits(3), new FakeClock());
    using first = await connection();
    using second = await connection();
    using third = await connection();
    for (const [at, { socket }] of [first, second, third].entries())
      put(pool, { ...target, podUid: `p${at}` }, socket, 9_000);
    pool.forgetAddress({ ...target, podUid: "p0" });
    second.far.end();
    third.far.write("HTTP/1.1 408 ");
    await eventually(() => [first, second, third].every(({ socket }) => socket.destroyed) && pool.size === 0);
  });
});

it("a connection takes no request after a suspension of the machine that was longer than its life", async () => {
  const clock = new FakeClock();
  using pool = new Pool(idleLimits(2), clock);
  using idle = await connection();
  put(pool, target, idle.socket, 10_000);
  clock.jumpWall(5_000); // monotonic time stood still
  expect(pool.take(target, ask("POST"))).toBeUndefined();
  expect([idle.socket.destroyed, pool.pods]).toEqual([true, 0]);
});
