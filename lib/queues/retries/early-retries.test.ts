import { describe, expect, it } from "vitest";
import { FakeClock } from "../../time/clock.ts";
import { KeyedQueue, retryBackoff } from "../keyed-queue.ts";

const groupOf = (key: string) => key.split("/")[0] ?? "";

/** A queue whose keys of namespaces `ns-*` fail in each pass. The count of passes, by namespace. */
function aQueue(perSecond = 200) {
  const clock = new FakeClock();
  const retries = { ceilingMs: () => 30_000, groupOf, perSecondAndGroup: 10, perSecond };
  const queue = new KeyedQueue(clock, { ...retryBackoff, jitter: 0 }, { retries });
  const passes = new Map<string, number>();
  const work = async () => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      passes.set(groupOf(key), (passes.get(groupOf(key)) ?? 0) + 1);
      queue.addRateLimited(key);
      queue.done(key);
    }
  };
  void work();
  const keysOf = (namespace: string, count: number) => Array.from({ length: count }, (_, at) => `${namespace}/${at}`);
  /** Fails these keys until each waits about half a minute, and counts from then on. */
  const failOften = async (keys: readonly string[]) => {
    for (const key of keys) queue.add(key);
    for (let second = 0; second < 45; second += 1) await clock.advance(1_000);
    passes.clear();
  };
  return { clock, queue, passes, keysOf, failOften, [Symbol.dispose]: () => queue.close() };
}

describe("an event about another object", () => {
  it("has a key that has not failed reconciled at once", async () => {
    using world = aQueue();
    let added = 0;
    world.queue.addForOther("ns-1/a", () => (added += 1));
    await world.clock.advance(0);
    expect([added, world.passes.get("ns-1")]).toEqual([1, 1]);
  });

  it("brings the retry of a failed key forward", async () => {
    using world = aQueue();
    await world.failOften(["ns-1/a"]);
    world.queue.addForOther("ns-1/a");
    await world.clock.advance(0);
    expect(world.passes.get("ns-1")).toBe(1);
  });

  it("brings the retries of many keys forward at the rate of their namespace, and those of another as ever", async () => {
    using world = aQueue();
    const keys = world.keysOf("ns-1", 100);
    await world.failOften([...keys, "ns-2/a"]);
    for (let event = 0; event < 60; event += 1) {
      for (const key of [...keys, "ns-2/a"]) world.queue.addForOther(key);
      await world.clock.advance(0);
    }
    expect([world.passes.get("ns-1"), world.passes.get("ns-2")]).toEqual([50, 50]);
    await world.clock.advance(1_000);
    expect(world.passes.get("ns-1")).toBe(60);
  });

  it("brings no more retries of all namespaces forward than their rate together", async () => {
    using world = aQueue(20);
    const keys = Array.from({ length: 10 }, (_, at) => world.keysOf(`ns-${at}`, 5)).flat();
    await world.failOften(keys);
    for (const key of keys) world.queue.addForOther(key);
    await world.clock.advance(0);
    expect([...world.passes.values()].reduce((sum, count) => sum + count, 0)).toBe(20);
  });

  it("brings the retry of a key forward at once while thousands of another namespace wait for theirs", async () => {
    using world = aQueue();
    const keys = world.keysOf("ns-1", 3_000);
    await world.failOften([...keys, "ns-2/a"]);
    for (const key of [...keys, "ns-2/a"]) world.queue.addForOther(key);
    await world.clock.advance(200);
    expect(world.passes.get("ns-2")).toBe(1);
  });

  it("that comes during a pass that fails does not begin the next pass by itself", async () => {
    const clock = new FakeClock();
    const retries = { ceilingMs: () => 30_000, groupOf, perSecondAndGroup: 0.2, perSecond: 1 };
    const queue = new KeyedQueue(clock, { ...retryBackoff, baseMs: 5_000, jitter: 0 }, { retries });
    queue.add("ns-1/a");
    for (const depth of [1, 0]) {
      const key = (await queue.take()) ?? "";
      queue.addForOther(key);
      queue.addRateLimited(key);
      queue.done(key);
      // The first of a second is brought forward, and the second is not.
      expect(queue.depth).toBe(depth);
    }
    queue.close();
  });
});
