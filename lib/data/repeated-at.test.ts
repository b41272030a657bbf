import { expect, it } from "vitest";
import { repeatedAt } from "./repeated-at.ts";

it("finds each value that was there before, and not the first of them", () => {
  expect([...repeatedAt(["a", "b", "a", undefined, "a", undefined])]).toEqual([2, 4, 5]);
});
