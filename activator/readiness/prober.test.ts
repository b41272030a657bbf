import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type Clock, FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { nextLoopbackAddress } from "../../test/support/sockets/loopback-address.ts";
import type { Target } from "../sandbox/resolve.ts";
import { ProbeBudget, type ProbeLease, probeLimits } from "./probe-budget.ts";
import { acceptedPortsMax, Prober } from "./prober.ts";

const never = new AbortController().signal;
const ip = nextLoopbackAddress();
const port = 8888;
const target = { namespace: "default", podUid: "p1", ip, port, probes: [], young: true };

async function listen(): Promise<{ readonly server: Server; readonly accepted: () => number } & AsyncDisposable> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.on("error", () => {}).resume();
  });
  await once(server.listen(port, ip), "listening");
  return {
    server,
    accepted: () => accepted,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Listens on so many ports. */
async function listenOnMany(count: number): Promise<{ readonly ports: readonly number[] } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const ports: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const server = createServer((socket) => socket.on("error", () => {}).resume());
    stack.defer(() => new Promise((resolve) => server.close(() => resolve())));
    await once(server.listen(0, ip), "listening");
    ports.push((server.address() as AddressInfo).port);
  }
  const opened = stack.move();
  return { ports, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Answers the first requests with an unrequested 101, and later requests with 200. */
async function listenWithUnrequestedUpgrades(upgrades: number) {
  const open = new Set<Socket>();
  let probes = 0;
  const answer = () => {
    probes += 1;
    return probes > upgrades ? "200 OK\r\n" : "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n";
  };
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
    socket.on("data", () => socket.write(`HTTP/1.1 ${answer()}\r\n`));
  });
  await once(server.listen(0, ip), "listening");
  return {
    target: targetWithProbe((server.address() as AddressInfo).port),
    open,
    probes: () => probes,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Serves one connection at a time, as a server with one thread does: the others wait until the first is closed. */
async function listenWithOneThread() {
  const queue: Socket[] = [];
  let accepted = 0;
  const serveNext = () => queue[0]?.on("data", () => void queue[0]?.write("HTTP/1.1 200 OK\r\n\r\n"));
  const server = createServer((socket) => {
    accepted += 1;
    socket
      .on("error", () => {})
      .on("close", () => {
        queue.splice(queue.indexOf(socket), 1);
        serveNext();
      });
    if (queue.push(socket) === 1) serveNext();
  });
  await once(server.listen(0, ip), "listening");
  return {
    target: targetWithProbe((server.address() as AddressInfo).port),
    accepted: () => accepted,
    waiting: () => queue.length,
    async [Symbol.asyncDispose]() {
      for (const socket of queue) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const targetWithProbe = (probed: number) => ({
  ...target,
  port: probed,
  probes: [{ port: probed, httpGet: { path: "/" }, timeoutMs: 1_000 }],
});

/** How often closed ports are dialled in a second or a little more. */
async function dialsOf(closed: readonly Target[]) {
  const beganMs = systemClock.ticksMs();
  let dials = 0;
  const clock: Clock = {
    now: () => systemClock.now(),
    ticksMs: () => systemClock.ticksMs(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    after(ms, task) {
      if (ms === 250) dials += 1; // the limit of one dial
      return systemClock.after(ms, task);
    },
  };
  const prober = new Prober(clock);
  const leaving = new AbortController();
  const waiting = closed.map((each) => prober.reach(each, leaving.signal));
  // A busy machine needs longer for the first dial of each.
  await eventually(() => systemClock.ticksMs() - beganMs > 1_000 && dials > closed.length);
  leaving.abort(new Error("left"));
  await Promise.allSettled(waiting);
  return { dials, seconds: (systemClock.ticksMs() - beganMs) / 1_000 };
}

describe("the prober of a port", () => {
  it("is shared by all waiting requests, and gives its connection to one of them", async () => {
    const prober = new Prober(systemClock);
    const waiting = Array.from({ length: 20 }, () => prober.reach(target, never));
    expect(prober.acceptedMs(target)).toBeUndefined();
    await using open = await listen();
    const sockets = (await Promise.all(waiting)).flatMap(({ socket }) => (socket ? [socket] : []));
    expect(sockets).toHaveLength(1);
    expect(prober.acceptedMs(target)).toEqual(expect.any(Number));
    await eventually(() => open.accepted() === 1);
    for (const socket of sockets) socket.destroy();
  });

  it("stops after the last request has left, and not before", async () => {
    const prober = new Prober(systemClock);
    const leaving = new AbortController();
    const left = prober.reach(target, leaving.signal);
    const stays = prober.reach(target, never);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await using open = await listen();
    (await stays).socket?.destroy();
    await eventually(() => open.accepted() === 1);
  });

  it("probes again after an unrequested 101, and keeps only the connection that proved the port", async () => {
    const prober = new Prober(systemClock);
    await using program = await listenWithUnrequestedUpgrades(3);
    const { socket } = await prober.reach(program.target, never);
    expect(program.probes()).toBe(4);
    await eventually(() => program.open.size === 1);
    socket?.destroy();
  });

  it("leaves no connection open when every probe is answered with an unrequested 101", async () => {
    const prober = new Prober(systemClock);
    await using program = await listenWithUnrequestedUpgrades(Number.POSITIVE_INFINITY);
    for (let round = 1; round <= 5; round += 1) {
      const leaving = new AbortController();
      const waiting = prober.reach(program.target, leaving.signal);
      await eventually(() => program.probes() > round * 2);
      leaving.abort(new Error("left"));
      await expect(waiting).rejects.toThrow("left");
    }
    await eventually(() => program.open.size === 0);
  });

  it("reaches a program that serves one connection at a time and has a readiness probe", async () => {
    const prober = new Prober(systemClock);
    await using program = await listenWithOneThread();
    const { socket } = await prober.reach(program.target, never);
    expect(socket?.destroyed).toBe(false);
    await eventually(() => program.waiting() === 1);
    socket?.destroy();
  });

  it("forgets a port that refused, and all ports of a Pod that is gone", async () => {
    const prober = new Prober(systemClock);
    await using _open = await listen();
    const reached = async () => (await prober.reach(target, never)).socket?.destroy();
    await reached();
    prober.forget(target);
    expect(prober.acceptedMs(target)).toBeUndefined();
    await reached();
    prober.forgetAddress(target);
    expect(prober.acceptedMs(target)).toBeUndefined();
  });

  it("remembers a bounded number of ports of a Pod: those that were used last", async () => {
    const prober = new Prober(systemClock);
    const program = await listenOnMany(acceptedPortsMax + 2);
    await using _ended = program;
    const [first = 0, second = 0, ...others] = program.ports;
    const reach = async (each: number) => (await prober.reach({ ...target, port: each }, never)).socket?.destroy();
    const isKnown = (each: number) => prober.acceptedMs({ ...target, port: each }) !== undefined;
    const last = others.splice(-2);
    for (const each of [first, second, ...others]) await reach(each);
    expect([isKnown(first), isKnown(second)]).toEqual([true, true]);
    isKnown(first);
    for (const each of last) await reach(each);
    expect(program.ports.filter((each) => !isKnown(each))).toEqual(others.slice(0, 2));
  });

  it("keeps nothing of a Pod that was gone before its port accepted", async () => {
    const inView = new Set(["p1"]);
    const prober = new Prober(systemClock, undefined, ({ podUid }) => inView.has(podUid));
    const reaching = prober.reach(target, never);
    inView.clear();
    prober.forgetAddress(target);
    await using _open = await listen();
    (await reaching).socket?.destroy();
    expect(prober.acceptedMs(target)).toBeUndefined();
  });

  it("closes the connection that proved a port at the moment when its last request left", async () => {
    await using program = await listenWithOneThread();
    const leaving = new AbortController();
    const budget = new (class extends ProbeBudget {
      override async take(...given: Parameters<ProbeBudget["take"]>): Promise<ProbeLease> {
        const lease = await super.take(...given);
        const over = () => {
          lease[Symbol.dispose]();
          leaving.abort(new Error("left"));
        };
        return { add: () => lease.add(), [Symbol.dispose]: over };
      }
    })(systemClock);
    const reaching = new Prober(systemClock, budget).reach({ ...program.target, probes: [] }, leaving.signal);
    await expect(reaching).rejects.toThrow("left");
    await eventually(() => program.accepted() === 1 && program.waiting() === 0);
  });

  it("tries a closed port again after 2 % of the time so far, at least 2 ms and at most 50 ms", async () => {
    const clock = new FakeClock();
    const leaving = new AbortController();
    const pauses: { readonly afterMs: number; readonly ms: number }[] = [];
    let failedMs: number | undefined;
    const reaching = new Prober(clock).reach(target, leaving.signal, (beganMs) => {
      if (failedMs !== undefined) pauses.push({ afterMs: failedMs, ms: beganMs - failedMs });
      failedMs = clock.ticksMs();
    });
    while (clock.ticksMs() < 3_000) {
      const failed = failedMs;
      await eventually(() => failedMs !== undefined);
      await clock.advance(50);
      await eventually(() => failedMs !== failed);
    }
    expect(pauses.length).toBeGreaterThan(50);
    for (const { afterMs, ms } of pauses) expect(ms).toBeCloseTo(Math.min(Math.max(afterMs / 50, 2), 50), 6);
    leaving.abort(new Error("left"));
    await expect(reaching).rejects.toThrow("left");
  });

  it("dials a Pod no more often for many closed ports than for one", async () => {
    const ports = Array.from({ length: 100 }, (_, at) => 20_000 + at);
    const { dials, seconds } = await dialsOf(ports.map((closed) => ({ ...target, port: closed })));
    expect(dials).toBeGreaterThan(ports.length);
    expect(dials).toBeLessThan(ports.length + 600 * seconds);
  });

  it("dials all Pods together no more often than its budget allows", async () => {
    const at = Array.from({ length: 400 }, (_, place) => place);
    const closed = at.map((place) => ({ ...target, podUid: `p${place % 40}`, port: 20_000 + place }));
    const { dials, seconds } = await dialsOf(closed);
    expect(dials).toBeGreaterThan(closed.length);
    expect(dials).toBeLessThan(200 + 1_000 * seconds);
  });

  it("counts each readiness probe of an attempt, and the dial after them", async () => {
    await using program = await listenWithOneThread();
    const [probe] = program.target.probes;
    const clock = new FakeClock();
    const budget = new ProbeBudget(clock, { ...probeLimits, rate: { perSecond: 1, burst: 10 } });
    const probes = Array.from({ length: 9 }, () => probe).flatMap((each) => each ?? []);
    const { socket } = await new Prober(clock, budget).reach({ ...program.target, probes }, never);
    socket?.destroy();
    expect(budget.open).toBe(0);
    let taken = false;
    void budget.take("default", { count: 1, isFirst: false }, never).then(() => {
      taken = true;
    });
    await clock.advance(900);
    expect(taken).toBe(false);
    await clock.advance(100);
    expect(taken).toBe(true);
  });
});
