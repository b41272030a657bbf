import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { Connector, type Upstream } from "../connect/connector.ts";
import type { Dial, DialListener } from "../connect/dial.ts";
import { Prober } from "../readiness/prober.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { WireSocket } from "../socket/wire-socket.ts";
import { Fifo } from "./fifo.ts";
import { PacedRelease, type ReleasedRequest } from "./paced-release.ts";

async function openPort() {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket.on("error", () => {}).resume());
    socket.on("close", () => sockets.delete(socket));
  });
  await once(server.listen({ port: 0, host: "127.0.0.1", backlog: 1_024 }), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A crowd that waits for one port, and what becomes of each. */
function crowd(count: number, port: number, mayGo: (at: number) => boolean = () => true) {
  const line = new Fifo<ReleasedRequest>();
  const served: number[] = [];
  const sockets: Upstream["socket"][] = [];
  let failures = 0;
  for (let at = 0; at < count; at += 1) {
    const taker: ReleasedRequest = {
      head: undefined,
      take(upstream) {
        if (!mayGo(at)) {
          upstream.socket.destroy();
          return false;
        }
        served.push(at);
        sockets.push(upstream.socket);
        line.leave(taker);
        return true;
      },
      dialFailed: () => {
        failures += 1;
      },
    };
    line.join(taker);
  }
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port, probes: [], young: true };
  const connector = new CountedConnector(5_000, () => undefined, systemClock);
  const release = new PacedRelease(line, target, { connector, prober: new Prober(systemClock), clock: systemClock });
  return {
    line,
    served,
    connector,
    release,
    failures: () => failures,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Counts how many dials are under way at a time. */
class CountedConnector extends Connector {
  readonly atATime: number[] = [];
  #running = 0;

  override begin(...[target, listener]: Parameters<Connector["begin"]>) {
    this.#running += 1;
    this.atATime.push(this.#running);
    const over = () => {
      this.#running -= 1;
    };
    const counted: DialListener = {
      connected(socket, dial) {
        over();
        listener.connected(socket, dial);
      },
      failed(error, dial) {
        over();
        listener.failed(error, dial);
      },
    };
    return super.begin(target, counted);
  }
}

const all = (count: number) => Array.from({ length: count }, (_, at) => at);

describe("a release", () => {
  it("serves requests in order of arrival, few at a time at first", async () => {
    await using port = await openPort();
    using waiting = crowd(700, port.port);
    await waiting.release.run(undefined);
    expect(waiting.served).toEqual(all(700));
    await eventually(() => port.accepted() === 700);
    const { atATime } = waiting.connector;
    expect(Math.max(...atATime.slice(0, 64))).toBeLessThanOrEqual(64);
    expect(Math.max(...atATime)).toBeLessThanOrEqual(256);
  });

  it("serves 300 requests, and yields to the event loop meanwhile", async () => {
    await using port = await openPort();
    using waiting = crowd(300, port.port);
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 0);
    await waiting.release.run(undefined);
    clearInterval(count);
    expect(waiting.served).toHaveLength(300);
    expect(turns).toBeGreaterThan(0);
  });

  it("stops at the first refused dial, and the remaining requests wait on", async () => {
    const { port } = await (async () => {
      await using closed = await openPort();
      return closed;
    })();
    using waiting = crowd(40, port);
    await waiting.release.run(undefined);
    expect(waiting.served).toEqual([]);
    expect([waiting.line.size, waiting.failures()]).toEqual([40, 1]);
  });

  it("stops when a request may not be sent, and closes its connections", async () => {
    await using port = await openPort();
    using waiting = crowd(40, port.port, (at) => at < 5);
    await waiting.release.run(undefined);
    expect(waiting.served).toEqual(all(5));
    expect(waiting.line.size).toBe(35);
    await eventually(() => port.open() === 5);
  });

  it("gives the proving connection to the first request, and stops on demand", async () => {
    await using port = await openPort();
    using waiting = crowd(10, port.port);
    const never = new AbortController().signal;
    const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: port.port, probes: [], young: true };
    const { socket } = await waiting.connector.connect(target, undefined, { signal: never });
    const over = waiting.release.run(socket);
    expect(waiting.served).toEqual([0]);
    waiting.release.stop();
    await over;
    expect(waiting.line.size).toBe(9);
    await eventually(() => port.open() === 1);
  });

  it("makes 64 connections at once, and twice as many in 40 ms", async () => {
    const clock = new FakeClock();
    let begun = 0;
    const begin = (_: Target, listener: DialListener) => {
      begun += 1;
      const dial = { cancel() {} } as Dial;
      setImmediate(() => listener.connected({ destroyed: false, writable: true } as WireSocket, dial));
      return dial;
    };
    const line = new Fifo<ReleasedRequest>();
    for (const _ of all(1_000)) {
      const taker = {
        head: undefined,
        take() {
          line.leave(taker);
          return true;
        },
        dialFailed() {},
      };
      line.join(taker);
    }
    const target = { namespace: "default", podUid: "p1", ip: "192.0.2.1", port: 1, probes: [], young: false };
    const deps = { connector: { idle: () => undefined, begin }, prober: { forget() {} }, clock };
    const release = new PacedRelease(line, target, deps as never);
    const over = release.run(undefined);
    const settled = async () => {
      for (const _ of all(100)) await new Promise(setImmediate);
      return [begun, line.size];
    };
    expect(await settled()).toEqual([64, 936]);
    await clock.advance(40);
    expect(await settled()).toEqual([128, 872]);
    release.stop();
    await over;
  });

  it("backs off while its dials hang", async () => {
    const clock = new FakeClock();
    let checks = 0;
    const connector = {
      idle: () => {
        checks += 1;
        return undefined;
      },
      begin: () => ({ cancel() {} }),
    };
    const line = new Fifo<ReleasedRequest>();
    line.join({ head: undefined, take: () => true, dialFailed() {} });
    const target = { namespace: "default", podUid: "p1", ip: "192.0.2.1", port: 1, probes: [], young: false };
    const release = new PacedRelease(line, target, { connector, prober: { forget() {} }, clock } as never);
    const over = release.run(undefined);
    await clock.advance(1_000);
    expect(checks).toBeGreaterThan(20);
    expect(checks).toBeLessThan(60);
    release.stop();
    await over;
  });
});
