import { describe, expect, it } from "vitest";
import { SharedCache } from "./shared-cache.ts";

const filled = (max: number, ...keys: readonly string[]) => {
  const cache = new SharedCache<string>(max);
  for (const key of keys) cache.set(key, key.slice(0, 1), key);
  return cache;
};
const kept = (cache: SharedCache<string>, ...keys: readonly string[]) =>
  keys.filter((key) => cache.ownerOf(key) !== undefined);

describe("a cache of several owners", () => {
  it("evicts entries of the owner that has most, also when another owner adds", () => {
    const cache = filled(5, "a1", "b1", "b2", "b3", "a2", "c1", "b4", "d1");
    expect(kept(cache, "a1", "a2", "b1", "b2", "b3", "b4", "c1", "d1")).toEqual(["a2", "b3", "b4", "c1", "d1"]);
    expect(cache.size).toBe(5);
  });

  it("drops what was used least recently, of one owner and of owners that have equally many", () => {
    const cache = filled(3, "a1", "a2", "a3");
    expect(cache.get("a1")).toBe("a1");
    cache.set("a4", "a", "a4");
    expect(kept(cache, "a1", "a2", "a3", "a4")).toEqual(["a1", "a3", "a4"]);
    const owners = filled(2, "a1", "b1");
    owners.get("a1");
    owners.set("c1", "c", "c1");
    expect(kept(owners, "a1", "b1", "c1")).toEqual(["a1", "c1"]);
  });

  it("has room again for what was deleted, and takes a key to another owner", () => {
    const cache = filled(2, "a1", "a2");
    cache.delete("a1");
    cache.delete("a1");
    cache.set("a2", "b", "new");
    expect([cache.size, cache.ownerOf("a2"), cache.get("a2"), cache.get("a1")]).toEqual([1, "b", "new", undefined]);
    cache.set("c1", "c", "c1");
    expect(kept(cache, "a2", "c1")).toEqual(["a2", "c1"]);
  });

  it("never has more than its maximum, nor evicts an owner below its equal share, in any order of calls", () => {
    const cache = new SharedCache<number>(8);
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return (seed >> 8) % below;
    };
    cache.set("own", "small", 0);
    for (let at = 0; at < 5_000; at += 1) {
      const owner = `owner ${random(3)}`;
      const key = `${owner}/${random(9)}`;
      if (random(4) === 0) cache.delete(key);
      else cache.set(key, owner, at);
      expect(cache.size).toBeLessThanOrEqual(8);
    }
    expect(cache.get("own")).toBe(0);
  });
});
