import { describe, expect, it } from "vitest";
import { isLaterVersion } from "./meta.ts";

describe("a version of an object", () => {
  it.each([
    ["10", "9"],
    ["2", "1"],
    ["18446744073709551617", "18446744073709551616"],
  ])("is later if its number is larger: %s after %s", (later, earlier) => {
    expect(isLaterVersion(later, earlier)).toBe(true);
    expect(isLaterVersion(earlier, later)).toBe(false);
    expect(isLaterVersion(later, later)).toBe(false);
  });

  it.each([
    ["b", "a"],
    ["10", ""],
    ["10", "09"],
    ["2.5", "1"],
  ])("is not later than one that it cannot be compared with: %s and %s", (one, other) => {
    expect([isLaterVersion(one, other), isLaterVersion(other, one)]).toEqual([false, false]);
  });
});
