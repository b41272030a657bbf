import { describe, expect, it, vi } from "vitest";
import { type Clock, FakeClock, systemClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { follow } from "../../test/support/fakes/followed-informer.ts";
import { aFailure } from "../../test/support/fakes/scripted-api.ts";
import { aStored, openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";
import { acceptedAfterMs } from "./start-informer.ts";
import { beatMs, lateBeatMs, silenceLimitMs } from "./watch-monitor.ts";

describe("an informer in a process that stands still", () => {
  const open = async (clock: Clock) => {
    const pods = await openScriptedCollection();
    pods.items = [aStored("a", "1")];
    const followed = follow(pods.client, { clock });
    const deleted = () => vi.waitFor(() => expect(followed.reported).toEqual(["+a@1", "-a@1"]), waiting);
    return { pods, followed, informer: followed.informer, deleted };
  };

  it("is as silent as the stand-still was long, although a message waited in the kernel", async () => {
    const { pods, followed, informer, deleted } = await open(systemClock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    await vi.waitFor(() => expect(informer.store.size).toBe(1), waiting);
    watch.send("DELETED", aStored("a", "7"));
    const stillMs = 300;
    // The response is written in the first tick. Then nothing of this process runs.
    process.nextTick(() => {
      for (const beganMs = systemClock.ticksMs(); systemClock.ticksMs() - beganMs < stillMs; );
    });
    await deleted();
    expect(informer.silentMs()).toBeGreaterThanOrEqual(stillMs);
  });

  it("takes what it reads afterwards, but hears the server only in a new list", async () => {
    const clock = new FakeClock();
    const { pods, followed, informer, deleted } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    clock.standStill(126_000);
    watch.send("DELETED", aStored("a", "7"));
    await deleted();
    expect(informer.silentMs()).toBe(126_000);
    pods.listFailure = aFailure(503, "ServiceUnavailable");
    await clock.advance(0); // the late beat
    await vi.waitFor(() => expect(pods.lists).toHaveLength(2), waiting);
    expect(watch.closed).toBe(true);
    expect(informer.silentMs()).toBe(126_000);
    pods.listFailure = undefined;
    pods.items = [];
    await asTimePasses(clock, () => expect(informer.silentMs()).toBeLessThan(5_000));
  });

  it("begins a new watch from the same version after one that was short", async () => {
    const clock = new FakeClock();
    const { pods, followed, informer, deleted } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    const stillMs = beatMs + lateBeatMs + 1;
    clock.standStill(stillMs);
    watch.send("DELETED", aStored("a", "7"));
    await deleted();
    await clock.advance(0);
    const next = await pods.watch(1);
    expect(next.query["resourceVersion"]).toBe("7");
    expect(pods.lists).toHaveLength(1);
    expect(informer.silentMs()).toBe(stillMs);
    next.bookmark("8");
    await vi.waitFor(() => expect(informer.silentMs()).toBe(0), waiting);
  });

  it("keeps its watch when a beat is a little late, and counts from the beat before", async () => {
    const clock = new FakeClock();
    const { pods, followed, informer, deleted } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    clock.standStill(beatMs + lateBeatMs);
    watch.send("DELETED", aStored("a", "7"));
    await deleted();
    expect(informer.silentMs()).toBe(beatMs + lateBeatMs);
    await clock.advance(0);
    watch.bookmark("8");
    await vi.waitFor(() => expect(informer.silentMs()).toBe(0), waiting);
    expect(watch.closed).toBe(false);
  });

  it("counts a watch that opened before the stand-still from before it", async () => {
    const clock = new FakeClock();
    const { pods, followed, informer } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting); // the beat and the acceptance: it is open
    clock.standStill(silenceLimitMs);
    await clock.advance(0);
    await vi.waitFor(() => expect(watch.closed).toBe(true), waiting);
    expect(informer.silentMs()).toBe(silenceLimitMs);
    await pods.watch(1);
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting);
    await clock.advance(acceptedAfterMs);
    expect(informer.silentMs()).toBe(acceptedAfterMs);
  });
});
