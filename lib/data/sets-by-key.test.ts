import { expect, it } from "vitest";
import { SetsByKey } from "./sets-by-key.ts";

it("a key has the values that were added and not disposed of, and is not kept without any", () => {
  const sets = new SetsByKey<number>();
  const one = sets.add("a", 1);
  const two = sets.add("a", 2);
  expect([...sets.of("a")]).toEqual([1, 2]);
  expect([...sets.of("b")]).toEqual([]);
  one[Symbol.dispose]();
  expect([...sets.of("a")]).toEqual([2]);
  expect(sets.size).toBe(1);
  two[Symbol.dispose]();
  expect(sets.size).toBe(0);
});

it("disposing a value after its key was taken affects no later value", () => {
  const sets = new SetsByKey<number>();
  const before = sets.add("a", 1);
  expect([...sets.take("a")]).toEqual([1]);
  using _after = sets.add("a", 2);
  before[Symbol.dispose]();
  expect([...sets.of("a")]).toEqual([2]);
});
