import { describe, expect, it, vi } from "vitest";
import { type Clock, FakeClock } from "../../lib/time/clock.ts";
import { jumpNoticedWithinMs } from "../../lib/time/clock-jumps.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { follow } from "../../test/support/fakes/followed-informer.ts";
import { aFailure } from "../../test/support/fakes/scripted-api.ts";
import {
  aStored,
  openScriptedCollection,
  type ScriptedCollection,
} from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";
import { acceptedAfterMs } from "./start-informer.ts";
import { beatMs, silenceLimitMs } from "./watch-monitor.ts";

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

  it("has seen a write once an event, a bookmark or a list is as late, and not because its watch is open", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const { informer } = followed;
    const watch = await pods.watch(0);
    await clock.advance(acceptedAfterMs);
    const [made, deleted] = [
      { atMs: clock.ticksMs(), version: "7" },
      { atMs: clock.ticksMs(), version: undefined },
    ];
    await clock.advance(60_000);
    expect([informer.hasSeen(made), informer.hasSeen(deleted)]).toEqual([false, false]);
    watch.bookmark("6");
    await vi.waitFor(() => expect(informer.hasSeen(deleted)).toBe(true), waiting);
    expect(informer.hasSeen(made)).toBe(false);
    watch.bookmark("10");
    await vi.waitFor(() => expect(informer.hasSeen(made)).toBe(true), waiting);
  });

  it("has seen a write of any version once it has listed anew", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    const written = { atMs: clock.ticksMs(), version: "7" };
    await clock.advance(1_000);
    watch.send("ERROR", aFailure(410, "Expired"));
    await asTimePasses(clock, () => expect(pods.lists).toHaveLength(2));
    await vi.waitFor(() => expect(followed.informer.hasSeen(written)).toBe(true), waiting);
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
    await asTimePasses(clock, () => expect(followed.informer.silentMs()).toBeLessThan(5_000));
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

  it("counts a pause of the machine, whose monotonic clock stood still, until a new list", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    await vi.waitFor(() => expect(followed.informer.silentMs()).toBe(0), waiting);
    clock.jumpWall(3_600_000);
    expect(followed.informer.silentMs()).toBe(3_600_000);
    pods.items = [];
    await vi.waitFor(() => expect(followed.informer.silentMs()).toBe(0), waiting);
    expect(followed.reported).toEqual(["+a@1", "-a@1"]);
    expect(watch.closed).toBe(true);
    expect(pods.lists).toHaveLength(2);
  });

  it("takes what it receives after a pause, but not as a sign that the server is there", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const watch = await pods.watch(0);
    clock.jumpWall(silenceLimitMs);
    watch.send("DELETED", aStored("a", "7"));
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@1", "-a@1"]), waiting);
    expect(pods.watchAttempts).toHaveLength(1);
    expect(followed.informer.silentMs()).toBe(silenceLimitMs);
    const next = await pods.watch(1);
    expect(next.query["resourceVersion"]).toBe("7");
  });

  it.each([
    { byMs: 86_400_000, lists: 2 },
    { byMs: 60_000, lists: 1 },
    { byMs: -86_400_000, lists: 1 },
  ])("begins one new watch for a clock corrected by $byMs ms", async ({ byMs, lists }) => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    await pods.watch(0);
    clock.jumpWall(byMs);
    await clock.advance(jumpNoticedWithinMs);
    const next = await pods.watch(1);
    await asTimePasses(clock, () => expect(followed.informer.silentMs()).toBeLessThan(5_000));
    await clock.advance(2 * jumpNoticedWithinMs);
    expect(next.closed).toBe(false);
    expect(pods.watchAttempts).toHaveLength(2);
    expect(pods.lists).toHaveLength(lists);
  });

  /** The watch after the first one, which has broken after 50 s of silence. */
  const reopened = async (clock: FakeClock, pods: ScriptedCollection) => {
    const first = await pods.watch(0);
    await clock.advance(50_000);
    first.drop();
    await asTimePasses(clock, () => expect(pods.watchAttempts).toHaveLength(2));
    return pods.watch(1);
  };

  it.each([
    { when: "at once", openForMs: 0 },
    { when: "later", openForMs: 30_000 },
  ])("goes on counting when the server opens a new watch and refuses the version $when", async ({ openForMs }) => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const next = await reopened(clock, pods);
    await clock.advance(openForMs);
    pods.listFailure = aFailure(503, "ServiceUnavailable");
    next.send("ERROR", aFailure(410, "Expired"));
    await vi.waitFor(() => expect(pods.lists).toHaveLength(2), waiting);
    expect(followed.informer.silentMs()).toBeGreaterThanOrEqual(50_000 + openForMs);
    pods.listFailure = undefined;
    await asTimePasses(clock, () => expect(followed.informer.silentMs()).toBeLessThan(5_000));
  });

  it("takes a new watch for a sign of the server only once it has stayed open for two seconds", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    await reopened(clock, pods);
    const beforeMs = followed.informer.silentMs();
    await vi.waitFor(() => expect(clock.pending).toBe(2), waiting); // the silence and the acceptance: it is open
    await clock.advance(acceptedAfterMs - 1);
    expect(followed.informer.silentMs()).toBe(beforeMs + acceptedAfterMs - 1);
    await clock.advance(1);
    const silentMs = followed.informer.silentMs();
    expect(silentMs).toBeGreaterThanOrEqual(acceptedAfterMs);
    expect(silentMs).toBeLessThanOrEqual(acceptedAfterMs + beatMs); // counted from the last beat before it was open
  });

  it("hears nothing from watches that open and end without a message", async () => {
    const clock = new FakeClock();
    const { pods, followed } = await open(clock);
    await using _pods = pods;
    await using _followed = followed;
    const beganMs = clock.ticksMs();
    for (let index = 0; index < 5; index += 1) {
      (await pods.watch(index)).end();
      await asTimePasses(clock, () => expect(pods.watchAttempts).toHaveLength(index + 2));
    }
    expect(followed.informer.silentMs()).toBe(clock.ticksMs() - beganMs);
  });
});
