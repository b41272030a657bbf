import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { FairKeys } from "./fair-keys.ts";
import { KeyedQueue, retryBackoff } from "./keyed-queue.ts";

function takeAll(keys: FairKeys): readonly (string | undefined)[] {
  const taken: (string | undefined)[] = [];
  while (keys.size > 0) taken.push(keys.take());
  return taken;
}

function waiting(...keys: readonly string[]): FairKeys {
  const all = new FairKeys();
  for (const key of keys) all.add(key);
  return all;
}

describe("keys that wait", () => {
  it("come by turns of their namespaces, in each the oldest first", () => {
    expect(takeAll(waiting("a/1", "a/2", "a/3", "b/1", "c/1", "b/2"))).toEqual(
      // Groups take turns in the order in which they came.
      ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"],
    );
  });

  it("of a namespace that comes later wait for one key of each other", () => {
    const keys = waiting("a/1", "a/2", "a/3");
    expect(keys.take()).toBe("a/1");
    keys.add("b/1");
    expect(takeAll(keys)).toEqual(["a/2", "b/1", "a/3"]);
  });

  it("are there once, and keep their place when they are added again", () => {
    const keys = waiting("a/1", "a/2", "a/1");
    expect([keys.size, keys.has("a/1"), keys.has("b/1")]).toEqual([2, true, false]);
    expect(takeAll(keys)).toEqual(["a/1", "a/2"]);
    expect([keys.size, keys.take()]).toEqual([0, undefined]);
  });

  it("can be removed, and leave no entry", () => {
    const keys = waiting("a/1", "a/2", "b/1");
    for (const key of ["a/1", "b/1", "c/1"]) keys.delete(key);
    expect(takeAll(keys)).toEqual(["a/2"]);
    keys.add("a/1");
    keys.clear();
    expect([keys.size, keys.take()]).toEqual([0, undefined]);
  });

  it("without a namespace come in the order in which they came", () => {
    expect(takeAll(waiting("c", "a", "b"))).toEqual(["c", "a", "b"]);
  });
});

describe("a queue of keys of several namespaces", () => {
  const crowd = Array.from({ length: 1_000 }, (_, at) => `crowd/${at}`);

  it("hands out a key beside a crowd of another namespace, not behind it", async () => {
    const queue = new KeyedQueue(new FakeClock());
    for (const key of [...crowd, "other/one", "other/two"]) queue.add(key);
    const taken = [await queue.take(), await queue.take(), await queue.take(), await queue.take()];
    expect(taken).toEqual(["crowd/0", "other/one", "crowd/1", "other/two"]);
  });

  it("gives out high-priority keys first, and lets namespaces take turns in low-priority ones", async () => {
    const mayWait = (key: string) => key.endsWith("spare") || key.startsWith("crowd");
    const queue = new KeyedQueue(new FakeClock(), retryBackoff, { patience: { mayWait, heldMax: 9 } });
    for (const key of [...crowd, "other/spare", "other/wake", "third/wake"]) queue.add(key);
    const taken = [await queue.take(), await queue.take(), await queue.take(), await queue.take()];
    expect(taken).toEqual(["other/wake", "third/wake", "crowd/0", "other/spare"]);
  });
});
