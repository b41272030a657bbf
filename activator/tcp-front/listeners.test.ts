import { once } from "node:events";
import { connect, createServer, Server } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { listeningWaitMs } from "../../api/between-programs/drain-protocol.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { freeFrontPort, talkTo } from "../../test/support/labs/tcp-front-lab.ts";
import { confirm } from "./confirm.ts";
import { Listeners } from "./listeners.ts";
import type { PortBinding } from "./ports/port-bindings.ts";

const binding = (activatorPort: number, sandboxUid = "u1"): PortBinding => ({
  ...{ activatorPort, sandboxUid, containerPort: 5432 },
  ...{ namespace: "default", sandboxName: "nova" },
});

const failure = (code: string) => Object.assign(new Error(code), { code });

function given() {
  const clock = new FakeClock();
  const came: string[] = [];
  const failures: string[] = [];
  const listeners = new Listeners({
    ...{ host: "127.0.0.1", clock, log: silentLogger },
    onConnection(socket, { sandboxUid }) {
      came.push(sandboxUid);
      socket.destroy();
    },
    onFailure: (code) => failures.push(code),
  });
  return {
    ...{ clock, came, failures, listeners },
    /** A port that accepts, and its server. */
    async openedServer(): Promise<[Server, number]> {
      using listening = vi.spyOn(Server.prototype, "listen"); // the real one, observed
      const port = await freeFrontPort();
      listening.mockClear();
      listeners.want(port, binding(port));
      await eventually(() => listeners.size === 1);
      const [server] = listening.mock.contexts;
      if (!(server instanceof Server)) throw new Error("no server listens");
      return [server, port];
    },
    [Symbol.dispose]: () => listeners.close(),
  };
}

describe("the listeners", () => {
  it("accept on a port while it has a binding", async () => {
    using world = given();
    const port = await freeFrontPort();
    world.listeners.want(port, binding(port));
    await eventually(() => world.listeners.size === 1);
    using client = await talkTo(port);
    expect([await client.over(), world.came]).toEqual(["ended", ["u1"]]);
    world.listeners.want(port, undefined);
    await expect(talkTo(port)).rejects.toThrow("ECONNREFUSED");
  });

  it("serve no client between two bindings of a port", async () => {
    using world = given();
    const port = await freeFrontPort();
    for (const uid of ["u1", "u2", "u3"]) {
      world.listeners.want(port, binding(port, uid));
      expect(world.listeners.accepts({ activatorPort: port, sandboxUid: uid })).toBe(false);
      await eventually(() => world.listeners.accepts({ activatorPort: port, sandboxUid: uid }));
      const socket = connect(port, "127.0.0.1");
      await once(socket, "close");
      expect(world.came.at(-1)).toBe(uid);
    }
  });

  it("retry a port in use with backoff, and report it", async () => {
    using world = given();
    const port = await freeFrontPort();
    const other = createServer();
    await once(other.listen(port, "127.0.0.1"), "listening");
    world.listeners.want(port, binding(port));
    await eventually(() => world.failures.length === 1);
    await world.clock.advance(250);
    await eventually(() => world.failures.length === 2);
    expect(world.failures).toEqual(["EADDRINUSE", "EADDRINUSE"]);
    expect(world.listeners.size).toBe(0);
    other.close();
    await world.clock.advance(500);
    await eventually(() => world.listeners.size === 1);
    expect(world.clock.pending).toBe(0);
  });

  it("go on when one connection cannot be accepted", async () => {
    using world = given();
    const [server, port] = await world.openedServer();
    server.emit("error", failure("EMFILE"));
    expect([world.failures, world.clock.pending]).toEqual([[], 0]);
    using client = await talkTo(port);
    expect(await client.over()).toBe("ended");
  });

  it("do not retry a port that has lost its binding", async () => {
    using world = given();
    const [server, port] = await world.openedServer();
    world.listeners.want(port, undefined);
    server.emit("error", failure("EADDRINUSE"));
    expect([world.failures, world.clock.pending]).toEqual([[], 0]);
  });

  it("open many ports without blocking the event loop", async () => {
    using world = given();
    const ports: number[] = [];
    while (ports.length < 300) ports.push(await freeFrontPort());
    for (const port of ports) world.listeners.want(port, binding(port));
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (world.listeners.size < ports.length) setImmediate(turn);
    };
    setImmediate(turn);
    await eventually(() => world.listeners.size === ports.length);
    expect(turns).toBeGreaterThan(5);
  });

  it("stay closed once disposed of", async () => {
    using world = given();
    const [first, second] = [await freeFrontPort(), await freeFrontPort()];
    world.listeners.want(first, binding(first));
    await eventually(() => world.listeners.size === 1);
    world.listeners.close();
    world.listeners.want(second, binding(second));
    await expect(talkTo(first)).rejects.toThrow("ECONNREFUSED");
    await expect(talkTo(second)).rejects.toThrow("ECONNREFUSED");
  });
});

describe("a confirmation", () => {
  it("comes once all ports accept for the requested sandboxes", async () => {
    using world = given();
    const [first, second] = [await freeFrontPort(), await freeFrontPort()];
    const ports = [first, second].map((activatorPort) => ({ activatorPort, sandboxUid: "u1" }));
    const confirmed = confirm({ ports }, world.listeners, () => false, world.clock);
    world.listeners.want(first, binding(first));
    world.listeners.want(second, binding(second));
    expect(await confirmed).toEqual({ ports });
    expect(world.clock.pending).toBe(0);
  });

  it("names the accepting ports at its limit, and none of another sandbox", async () => {
    using world = given();
    const [first, second] = [await freeFrontPort(), await freeFrontPort()];
    world.listeners.want(first, binding(first));
    world.listeners.want(second, binding(second, "u2"));
    await eventually(() => world.listeners.size === 2);
    const ports = [first, second].map((activatorPort) => ({ activatorPort, sandboxUid: "u1" }));
    const confirmed = confirm({ ports }, world.listeners, () => false, world.clock);
    await world.clock.advance(listeningWaitMs);
    expect(await confirmed).toEqual({ ports: ports.slice(0, 1) });
  });
});
