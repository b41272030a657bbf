import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { NewSandboxes } from "./await-new-sandbox.ts";

const nova = { namespace: "default", name: "nova" };

async function openLab() {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const cluster = opened.use(startCluster({ client: api.client, clock: systemClock, log: silentLogger }));
  await eventually(() => cluster.synced);
  const clock = new FakeClock();
  const closing = opened.move();
  return {
    newSandboxes: new NewSandboxes({ cluster, clock }),
    clock,
    make: (name: string) => api.client.create(sandboxType, aSandbox(name)),
    isKnown: (name: string) => cluster.sandbox(nova.namespace, name) !== undefined,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A client that can leave, and whether a listener is registered for it. */
function client(peer = "192.0.2.1") {
  let listener: (() => void) | undefined;
  return {
    head: { peer },
    left: false,
    onLeave(onLeft: (() => void) | undefined) {
      listener = onLeft;
    },
    leave: () => listener?.(),
    hasListener: () => listener !== undefined,
  };
}

describe("a request for an unknown name", () => {
  it("waits for a sandbox that was created before and appears in the watch later", async () => {
    await using lab = await openLab();
    const one = client();
    const arrival = lab.newSandboxes.arrival(nova, one);
    await lab.make("other");
    await lab.make("nova");
    await arrival;
    expect(lab.isKnown("nova")).toBe(true);
    expect([lab.clock.pending, one.hasListener()]).toEqual([0, false]);
    expect(lab.newSandboxes.arrival(nova, client())).toBeUndefined();
  });

  it("waits for half a second at most", async () => {
    await using lab = await openLab();
    let over = false;
    const arrival = lab.newSandboxes.arrival(nova, client())?.then(() => {
      over = true;
    });
    await lab.clock.advance(499);
    expect(over).toBe(false);
    await lab.clock.advance(1);
    await arrival;
    expect(over).toBe(true);
  });

  it("stops waiting when its client leaves", async () => {
    await using lab = await openLab();
    const one = client();
    const arrival = lab.newSandboxes.arrival(nova, one);
    one.leave();
    await arrival;
    expect(lab.clock.pending).toBe(0);
  });

  it("does not wait beside a thousand others", async () => {
    await using lab = await openLab();
    const waits = (index: number) =>
      lab.newSandboxes.arrival({ namespace: `n${index % 8}`, name: "nova" }, client(`192.0.2.${index % 4}`));
    const arrivals = Array.from({ length: 1_000 }, (_, index) => waits(index));
    expect(arrivals).not.toContain(undefined);
    expect(lab.newSandboxes.arrival({ namespace: "other", name: "nova" }, client("192.0.2.9"))).toBeUndefined();
    await lab.clock.advance(500);
    await Promise.all(arrivals);
    expect(lab.newSandboxes.arrival(nova, client())).toBeInstanceOf(Promise);
  });

  it("waits beside another namespace, which gets a quarter of the places at most", async () => {
    await using lab = await openLab();
    const noisy = (index: number) =>
      lab.newSandboxes.arrival({ namespace: "noisy", name: `x${index}` }, client(`192.0.2.${index % 100}`));
    const arrivals = Array.from({ length: 300 }, (_, index) => noisy(index));
    expect(arrivals.filter((arrival) => arrival)).toHaveLength(250);
    expect(lab.newSandboxes.arrival(nova, client())).toBeInstanceOf(Promise);
    await lab.clock.advance(500);
    await Promise.all(arrivals);
    expect(noisy(1)).toBeInstanceOf(Promise);
  });

  it("waits beside a client address that uses its half of the places for invented namespaces", async () => {
    await using lab = await openLab();
    const arrivals = Array.from({ length: 600 }, (_, index) =>
      lab.newSandboxes.arrival({ namespace: `n${index}`, name: "x" }, client("192.0.2.7")),
    );
    expect(arrivals.filter((arrival) => arrival)).toHaveLength(500);
    expect(lab.newSandboxes.arrival(nova, client())).toBeInstanceOf(Promise);
    await lab.clock.advance(500);
    await Promise.all(arrivals);
    expect(lab.newSandboxes.arrival(nova, client("192.0.2.7"))).toBeInstanceOf(Promise);
  });
});
