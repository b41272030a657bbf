import { expect, it } from "vitest";
import { KeyCounts } from "./key-counts.ts";

it("counts of keys go up and down, and a key with count 0 is removed", () => {
  const counts = new KeyCounts();
  counts.add("a");
  counts.add("a");
  counts.add("b");
  expect([counts.of("a"), counts.of("b"), counts.of("c"), counts.size]).toEqual([2, 1, 0, 2]);
  counts.remove("a");
  counts.remove("b");
  expect([counts.of("a"), counts.of("b"), counts.size]).toEqual([1, 0, 1]);
  counts.remove("b");
  expect(counts.of("b")).toBe(0);
});

it("knows a key with the highest count", () => {
  const counts = new KeyCounts();
  expect(counts.most()).toBeUndefined();
  for (const key of ["a", "b", "b", "c"]) counts.add(key);
  expect(counts.most()).toBe("b");
});
