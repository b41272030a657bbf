import { describe, expect, it } from "vitest";
import { DeadlineHeap } from "./deadline-heap.ts";

function takeAll(heap: DeadlineHeap, nowMs = Number.POSITIVE_INFINITY): string[] {
  const taken: string[] = [];
  for (let key = heap.takeDue(nowMs); key !== undefined; key = heap.takeDue(nowMs)) taken.push(key);
  return taken;
}

describe("DeadlineHeap", () => {
  it("returns due keys, the earliest first, and keeps the rest", () => {
    const heap = new DeadlineHeap();
    for (const dueMs of [30, 10, 50, 20, 40]) heap.set(`at ${dueMs}`, dueMs);
    expect(heap.nextMs).toBe(10);
    expect(takeAll(heap, 30)).toEqual(["at 10", "at 20", "at 30"]);
    expect([heap.size, heap.nextMs]).toEqual([2, 40]);
  });

  it("moves a deadline in either direction", () => {
    const heap = new DeadlineHeap();
    for (const [key, dueMs] of Object.entries({ a: 1, b: 2, c: 3, d: 4 })) heap.set(key, dueMs);
    heap.set("a", 10);
    heap.set("d", 0);
    expect(heap.dueMsOf("a")).toBe(10);
    expect(takeAll(heap)).toEqual(["d", "b", "c", "a"]);
  });

  it("removes deleted keys", () => {
    const heap = new DeadlineHeap();
    for (const [key, dueMs] of Object.entries({ a: 1, b: 2, c: 3 })) heap.set(key, dueMs);
    expect([heap.delete("b"), heap.delete("b")]).toEqual([true, false]);
    expect(takeAll(heap)).toEqual(["a", "c"]);
    expect(heap.nextMs).toBeUndefined();
  });

  it("agrees with a sorted list under any operations", () => {
    const heap = new DeadlineHeap();
    const plain = new Map<string, number>();
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    for (let round = 0; round < 5_000; round += 1) {
      const key = `key ${random(200)}`;
      if (random(4) === 0) {
        expect(heap.delete(key)).toBe(plain.delete(key));
      } else {
        const dueMs = random(1_000_000);
        heap.set(key, dueMs);
        plain.set(key, dueMs);
      }
      expect(heap.nextMs).toBe(plain.size === 0 ? undefined : Math.min(...plain.values()));
    }
    const sorted = [...plain.values()].sort((a, b) => a - b);
    expect(takeAll(heap).map((key) => plain.get(key))).toEqual(sorted);
  });
});
