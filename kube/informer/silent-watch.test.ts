import { describe, expect, it, vi } from "vitest";
import { type Clock, FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { follow } from "../../test/support/fakes/followed-informer.ts";
import { aStored, openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";
import { silenceLimitMs } from "./start-informer.ts";

describe("an informer that receives nothing", () => {
  const open = async (clock: Clock) => {
    const pods = await openScriptedCollection();
    pods.items = [aStored("a", "1")];
    const followed = follow(pods.client, { clock });
    return { pods, followed };
  };

  it("has the time since the last message", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    await clock.advance(40_000);
    expect(followed.informer.silentMs()).toBe(40_000);
    watch.bookmark("5");
    await vi.waitFor(() => expect(followed.informer.silentMs()).toBe(0), waiting);
  });

  it("gives up a half-open connection before two minutes are over, and watches on from where it was", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const halfOpen = await pods.watch(0);
    await clock.advance(silenceLimitMs - 1);
    expect(halfOpen.closed).toBe(false);
    await asTimePasses(clock, () => expect(pods.watchAttempts).toHaveLength(2));
    await vi.waitFor(() => expect(halfOpen.closed).toBe(true), waiting);
    await vi.waitFor(() => expect(followed.informer.silentMs()).toBeLessThan(silenceLimitMs), waiting);
    const next = await pods.watch(1);
    expect(next.query["resourceVersion"]).toBe(halfOpen.query["resourceVersion"]);
    next.send("DELETED", aStored("a", "7"));
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@1", "-a@1"]), waiting);
  });

  it("never lists a silent kind again, even without bookmarks", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    for (let silence = 1; silence <= 5; silence += 1) {
      await asTimePasses(clock, () => expect(pods.watchAttempts).toHaveLength(silence + 1));
    }
    expect(pods.lists).toHaveLength(1);
  });

  it("stays on a quiet watch for as long as bookmarks come", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    for (let minute = 1; minute <= 10; minute += 1) {
      await clock.advance(60_000);
      watch.bookmark(String(minute));
      await vi.waitFor(() => expect(followed.informer.silentMs()).toBe(0), waiting);
    }
    expect(watch.closed).toBe(false);
    expect(pods.lists).toHaveLength(1);
  });

  it("is not misled by a wall clock that jumps", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    clock.jumpWall(86_400_000);
    await clock.advance(1_000);
    expect(followed.informer.silentMs()).toBe(1_000);
    clock.jumpWall(-2 * 86_400_000);
    await clock.advance(1_000);
    expect(followed.informer.silentMs()).toBe(2_000);
    expect(watch.closed).toBe(false);
  });
});
