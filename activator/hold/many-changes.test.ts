import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { Connector } from "../connect/connector.ts";
import { NewSandboxes } from "../find/await-new-sandbox.ts";
import type { Incoming } from "../request.ts";
import { ChangeSignal, changesOf } from "../sandbox/change-signal.ts";
import { FirstView } from "./await-first-view.ts";
import type { HeldRequest } from "./held-request.ts";
import { SandboxHold } from "./sandbox-hold.ts";

const sandbox = aSandbox({}, { namespace: "default", uid: "u1" });

/** A cluster whose changes are the test's: it has one listener at a time, and counts how often that asks. */
function aCluster(seen: () => Stored<Sandbox> | undefined) {
  const signal = new ChangeSignal();
  const counts = { asked: 0 };
  const changes = changesOf(signal, { [Symbol.dispose]() {} });
  const cluster = {
    ...{ synced: true, firstSeen: Promise.resolve(), silentMs: () => 0, listen: () => changes },
    ...{ hasPod: () => true, sightsOf: () => undefined, podSeenMs: () => 0 },
    podOf: () => aPodOf(sandbox, { uid: "p1" }, { phase: "Running", podIP: "10.0.0.1" }),
    sandbox() {
      counts.asked += 1;
      return seen();
    },
  };
  return { cluster, signal, counts };
}

const changeCount = 20_000;

/** Bytes that a wait keeps for each change of its sandbox. */
async function keptPerChange({ signal, counts }: ReturnType<typeof aCluster>): Promise<number> {
  const bytes = await heapBytesOf(async () => {
    const before = counts.asked;
    for (let count = 0; count < changeCount; count += 1) {
      signal.notify();
      for (let step = 0; step < 10; step += 1) await undefined;
    }
    expect(counts.asked - before).toBeGreaterThanOrEqual(changeCount);
  });
  return bytes / changeCount;
}

const noChange = { firstSettled: new Promise<void>(() => {}), settled: false };
const holdLimits = { lend: () => ({ [Symbol.dispose]: () => {} }) };
const observer = { held: () => ({ [Symbol.dispose]: () => {} }), dialFailed() {}, woke() {} };
const headers = { host: "nova.default.sandbox.example", headers: [], peer: "192.0.2.1" };

/** A request whose client can leave. */
function aClient() {
  let leave: (() => void) | undefined;
  const incoming = {
    ...{ head: headers, seenMs: 0, left: false },
    onLeave: (left: (() => void) | undefined) => {
      leave = left;
    },
  };
  return { incoming: incoming as unknown as Incoming, leave: () => leave?.() };
}

it("a request that waits for the first view keeps nothing for each change of its sandbox", async () => {
  const clock = new FakeClock();
  const world = aCluster(() => undefined);
  const held = new Set<unknown>();
  const holdDeadlines = { begin: (one: unknown) => held.add(one), over: (one: unknown) => held.delete(one) };
  const domains = { domain: "sandbox.example", clusterDomain: "cluster.local", serviceNames: [] };
  const deps = {
    clock,
    cluster: world.cluster,
    claims: noChange,
    holdLimits,
    holdDeadlines,
    domains,
    proxyTimeoutMs: 60_000,
  };
  const client = aClient();
  const spelt = { namespace: "default", name: "nova" };
  const known = new FirstView(deps as never).known(client.incoming, spelt, observer);
  expect(await keptPerChange(world)).toBeLessThan(50);
  expect(held.size).toBe(1);
  client.leave();
  await expect(known).rejects.toThrow("the client left");
  expect(held.size, "no deadline is left").toBe(0);
});

it("a request that waits for a new sandbox keeps nothing for each change", async () => {
  const world = aCluster(() => undefined);
  const client = aClient();
  const newSandboxes = new NewSandboxes({ clock: new FakeClock(), cluster: world.cluster as never });
  const arrival = newSandboxes.arrival({ namespace: "default", name: "nova" }, client.incoming);
  expect(await keptPerChange(world)).toBeLessThan(50);
  client.leave();
  await arrival;
});

it("a line that is released keeps nothing for each change of its sandbox", async () => {
  const clock = new FakeClock();
  const world = aCluster(() => sandbox);
  const connector = new Connector(5_000, () => undefined, clock);
  const dials: string[] = [];
  // A dial that goes on.
  connector.begin = ({ ip }) => ({ cancel: () => void dials.push(ip) }) as never;
  const fences = { of: () => ({ reportedGeneration: 0, fenced: new Set() }) };
  const prober = { reach: async () => ({ socket: undefined }), forget() {} };
  const options = { proxyTimeoutMs: 60_000, allowLoopbackPodIp: false, dialRetryMs: 1_000 };
  const deps = { clock, cluster: world.cluster, connector, prober, fences, options };
  const ends: Error[] = [];
  let isOver = false;
  const hold = new SandboxHold({ namespace: "default", name: "nova", port: 80 }, "u1", deps as never, () => {
    isOver = true;
  });
  const waiter = {
    ...{ sinceMs: 0, head: undefined, dialFailed() {}, end: (error: Error) => void ends.push(error) },
    connectRequest: { to: {}, use: { begin() {} }, deps, observer },
  } as unknown as HeldRequest;
  hold.join(waiter);
  expect(await keptPerChange(world)).toBeLessThan(50);
  hold.left(waiter);
  await clock.advance(100);
  expect([isOver, dials, ends]).toEqual([true, ["10.0.0.1"], []]);
  expect(clock.pending).toBe(0);
});
