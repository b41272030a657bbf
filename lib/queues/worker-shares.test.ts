import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { groupOf } from "./fair-keys.ts";
import { KeyedQueue, type QueueOptions, retryBackoff } from "./keyed-queue.ts";

/** A queue with so many workers, each of which waits for a key; `done` ends the pass of a key and begins another. */
function atWork(workers: number, options: QueueOptions = {}) {
  const queue = new KeyedQueue(new FakeClock(), retryBackoff, { workers, ...options });
  const held: string[] = [];
  const work = async () => {
    const key = await queue.take();
    if (key !== undefined) held.push(key);
  };
  for (let worker = 0; worker < workers; worker += 1) void work();
  const fill = async (namespace: string, count: number) => {
    for (let at = 0; at < count; at += 1) queue.add(`${namespace}/${at}`);
    await Promise.resolve();
  };
  const done = async (key: string) => {
    held.splice(held.indexOf(key), 1);
    void work();
    queue.done(key);
    await Promise.resolve();
  };
  const of = (namespace: string) => held.filter((key) => groupOf(key) === namespace).length;
  return { queue, held, fill, done, of };
}

describe("a namespace that fills a queue", () => {
  it("gets three quarters of the workers, and the next one half of the rest", async () => {
    const { fill, of } = atWork(100);
    await fill("crowd", 1_000);
    expect(of("crowd")).toBe(75);
    await fill("second", 1_000);
    expect(of("second")).toBe(13);
    await fill("third", 1_000);
    expect(of("third")).toBe(6);
    await fill("wake", 1);
    expect([of("wake"), of("crowd")]).toEqual([1, 75]);
  });

  it("gets the workers that it gives back, also where they are given back one by one", async () => {
    const { fill, of, done, held } = atWork(8);
    await fill("crowd", 100);
    expect(of("crowd")).toBe(6);
    for (let pass = 0; pass < 94; pass += 1) await done(held[0] ?? "");
    expect(of("crowd")).toBe(6);
    while (held.length > 0) await done(held[0] ?? "");
    expect(of("crowd")).toBe(0);
  });

  it.each([1, 2, 3])("gets all workers if there are %i", async (workers) => {
    const { fill, of } = atWork(workers);
    await fill("crowd", 10);
    expect(of("crowd")).toBe(workers);
  });

  it("leaves room for low-priority keys of another one, whatever number of its own hang", async () => {
    const { fill, of, done } = atWork(100, { patience: { mayWait: () => true, heldMax: 50 } });
    await fill("pool", 100);
    expect(of("pool")).toBe(50);
    await fill("lab", 3);
    expect(of("lab")).toBe(3);
    await done("lab/0");
    await fill("lab", 1);
    expect([of("lab"), of("pool")]).toEqual([3, 50]);
  });

  it("gets no more workers than one namespace may have, while others get theirs", async () => {
    const { fill, of, done } = atWork(4, { workersOfGroup: 1 });
    await fill("crowd", 10);
    expect(of("crowd")).toBe(1);
    await fill("lab", 1);
    expect(of("lab")).toBe(1);
    await done("crowd/0");
    expect(of("crowd")).toBe(1);
  });

  it("gets no more of them for its low-priority keys", async () => {
    const patience = { mayWait: (key: string) => key.startsWith("pool"), heldMax: 4 };
    const { fill, of } = atWork(8, { patience });
    await fill("pool", 100);
    await fill("crowd", 100);
    expect([of("pool"), of("crowd")]).toEqual([4, 2]);
    await fill("wake", 1);
    expect(of("wake")).toBe(1);
  });
});
