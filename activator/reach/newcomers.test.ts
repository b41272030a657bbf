import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/sandbox.ts";
import { FakeClock, systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { aSandbox } from "../../test/support/activator-world.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { Newcomers } from "./newcomers.ts";

const nova = { namespace: "default", name: "nova" };

async function openLab() {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const cluster = opened.use(startCluster({ client: api.client, clock: systemClock, log: silentLogger }));
  await eventually(() => cluster.synced);
  const clock = new FakeClock();
  const closing = opened.move();
  return {
    newcomers: new Newcomers({ cluster, clock }),
    clock,
    make: (name: string) => api.client.create(sandboxType, aSandbox(name)),
    isKnown: (name: string) => cluster.sandbox(nova.namespace, name) !== undefined,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A client that can leave, and whether anybody wants to hear of it. */
function client() {
  let listener: (() => void) | undefined;
  return {
    left: false,
    onLeave(told: (() => void) | undefined) {
      listener = told;
    },
    leave: () => listener?.(),
    hasListener: () => listener !== undefined,
  };
}

describe("a request for a name that nobody knows", () => {
  it("waits for a sandbox of that name, which was made before the request but is told of after it", async () => {
    await using lab = await openLab();
    const one = client();
    const arrival = lab.newcomers.arrival(nova, one);
    await lab.make("other");
    await lab.make("nova");
    await arrival;
    expect(lab.isKnown("nova")).toBe(true);
    expect([lab.clock.pending, one.hasListener()]).toEqual([0, false]);
    expect(lab.newcomers.arrival(nova, client())).toBeUndefined();
  });

  it("waits for half a second, and no longer", async () => {
    await using lab = await openLab();
    let over = false;
    const arrival = lab.newcomers.arrival(nova, client())?.then(() => {
      over = true;
    });
    await lab.clock.advance(499);
    expect(over).toBe(false);
    await lab.clock.advance(1);
    await arrival;
    expect(over).toBe(true);
  });

  it("ends to wait when its client leaves", async () => {
    await using lab = await openLab();
    const one = client();
    const arrival = lab.newcomers.arrival(nova, one);
    one.leave();
    await arrival;
    expect(lab.clock.pending).toBe(0);
  });

  it("does not wait where a thousand do", async () => {
    await using lab = await openLab();
    const arrivals = Array.from({ length: 1_000 }, () => lab.newcomers.arrival(nova, client()));
    expect(lab.newcomers.arrival(nova, client())).toBeUndefined();
    await lab.clock.advance(500);
    await Promise.all(arrivals);
    expect(lab.newcomers.arrival(nova, client())).toBeInstanceOf(Promise);
  });
});
