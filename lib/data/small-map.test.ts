import { describe, expect, it } from "vitest";
import { SmallMap } from "./small-map.ts";

describe("a small map", () => {
  it("agrees with a map after every change", () => {
    const keys = ["a", "b", "c"];
    const steps = keys.flatMap((key) => [`set ${key}`, `delete ${key}`]);
    // Every sequence of five changes.
    for (let number = 0; number < steps.length ** 5; number += 1) {
      const small = new SmallMap<string, number>();
      const map = new Map<string, number>();
      for (let [at, rest] = [0, number]; at < 5; at += 1, rest = Math.floor(rest / steps.length)) {
        const [change, key = ""] = (steps[rest % steps.length] ?? "").split(" ");
        for (const each of [small, map]) change === "set" ? each.set(key, at) : each.delete(key);
      }
      const seen = [small.size, keys.map((key) => small.get(key)), [...small.values()].sort()];
      const expected = [map.size, keys.map((key) => map.get(key)), [...map.values()].sort()];
      if (JSON.stringify(seen) !== JSON.stringify(expected)) expect([number, seen]).toEqual([number, expected]);
    }
  });

  it("lets its entries be deleted while it yields them", () => {
    const small = new SmallMap<number, number>();
    for (const each of [1, 2, 3]) small.set(each, each);
    const seen: number[] = [];
    for (const each of small.values()) {
      seen.push(each);
      small.delete(each);
    }
    expect([seen, small.size]).toEqual([[1, 2, 3], 0]);
  });
});
