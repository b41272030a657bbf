import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { KeyedQueue, retryBackoff } from "./keyed-queue.ts";

/** Keys of the namespace `hasty` are retried at least every 30 s; others by the backoff. */
function aQueue() {
  const clock = new FakeClock();
  const groupOf = (key: string) => key.split("/")[0] ?? "";
  const queue = new KeyedQueue(
    clock,
    { ...retryBackoff, jitter: 0 },
    {
      retries: {
        ceilingMs: (key) => (groupOf(key) === "slow" ? undefined : 30_000),
        groupOf,
        perSecondAndGroup: 10,
        perSecond: 200,
      },
    },
  );
  /** The delay of the next attempt after this number of failures of the key. */
  const delayAfter = async (key: string, failures: number) => {
    for (let failure = 1; failure < failures; failure += 1) queue.addRateLimited(key);
    const beganMs = clock.ticksMs();
    while (queue.depth > 0 || clock.pending > 0) {
      if (queue.depth === 0) await clock.advanceToNext();
      else queue.done((await queue.take()) ?? "");
    }
    const restMs = clock.ticksMs();
    queue.addRateLimited(key);
    while (queue.depth === 0) await clock.advanceToNext();
    return { beganMs, waitedMs: clock.ticksMs() - restMs };
  };
  return { queue, delayAfter };
}

/** The longest of many delays of a key that has failed often, while all keys of other groups fail too. */
async function longestDelayBeside(groups: number, keysOfEach: number): Promise<number> {
  const clock = new FakeClock();
  const delaysMs: number[] = [];
  const after = (delayMs: number) => {
    delaysMs.push(delayMs);
    return { cancel() {}, [Symbol.dispose]() {} };
  };
  const queue = new KeyedQueue(
    { now: () => clock.now(), ticksMs: () => clock.ticksMs(), after, sleep: () => Promise.resolve() },
    retryBackoff,
    {
      retries: {
        ceilingMs: () => 30_000,
        groupOf: (key) => key.split("/")[0] ?? "",
        perSecondAndGroup: 10,
        perSecond: 200,
      },
    },
  );
  for (let group = 0; group < groups; group += 1) {
    for (let index = 0; index < keysOfEach; index += 1) queue.addRateLimited(`group-${group}/${index}`);
  }
  for (let failure = 0; failure < 70; failure += 1) {
    queue.add("other/a");
    await queue.take();
    queue.addRateLimited("other/a");
    queue.done("other/a");
    if (failure === 20) delaysMs.length = 0;
  }
  return Math.max(...delaysMs);
}

describe("a failing key that a client waits for", () => {
  it("is retried after half a minute at the latest, and not together with others", async () => {
    const { delayAfter } = aQueue();
    const { waitedMs } = await delayAfter("hasty/a", 20);
    expect(waitedMs).toBeGreaterThanOrEqual(15_000);
    expect(waitedMs).toBeLessThanOrEqual(30_100);
  });

  it("is retried as soon as any other at first", async () => {
    const { delayAfter } = aQueue();
    expect((await delayAfter("hasty/a", 9)).waitedMs).toBe(1_280);
  });

  it("waits for the backoff if no client waits for it", async () => {
    const { delayAfter } = aQueue();
    expect((await delayAfter("slow/a", 20)).waitedMs).toBe(1_000_000);
  });

  it("waits longer when a thousand of its group fail, and other groups do not", async () => {
    const crowded = aQueue();
    for (let index = 0; index < 1_000; index += 1) crowded.queue.addRateLimited(`hasty/${index}`);
    const { waitedMs } = await crowded.delayAfter("hasty/a", 20);
    expect(waitedMs).toBeGreaterThanOrEqual(50_000);
    expect(waitedMs).toBeLessThanOrEqual(100_200);
    expect((await crowded.delayAfter("other/a", 20)).waitedMs).toBeLessThanOrEqual(30_100);
  });

  it("waits no longer when 60,000 keys of one other group fail", async () => {
    expect(await longestDelayBeside(1, 60_000)).toBeLessThanOrEqual(30_000);
  });

  it("waits twice as long when 40 groups have so many failing keys that they share the rate of 20", async () => {
    const longestMs = await longestDelayBeside(40, 400);
    expect(longestMs).toBeGreaterThan(45_000);
    expect(longestMs).toBeLessThanOrEqual(60_100);
  });

  it("counts no longer once it has succeeded", async () => {
    const { queue, delayAfter } = aQueue();
    for (let index = 0; index < 1_000; index += 1) queue.addRateLimited(`hasty/${index}`);
    for (let index = 0; index < 1_000; index += 1) queue.forget(`hasty/${index}`);
    expect((await delayAfter("hasty/a", 20)).waitedMs).toBeLessThanOrEqual(30_100);
  });
});
