import { describe, expect, it } from "vitest";
import { backoffDelayMs } from "./backoff.ts";

const backoff = { baseMs: 5, maxMs: 1_000, jitter: 0.2 };
const longest = () => 0;
const shortest = () => 1;

describe("the delay after a failure", () => {
  it.each([
    { failures: 0, delayMs: 0 },
    { failures: 1, delayMs: 5 },
    { failures: 2, delayMs: 10 },
    { failures: 8, delayMs: 640 },
    { failures: 9, delayMs: 1_000 },
    { failures: 5_000, delayMs: 1_000 },
  ])("number $failures is $delayMs ms: it doubles up to a ceiling", ({ failures, delayMs }) => {
    expect(backoffDelayMs(failures, backoff, longest)).toBe(delayMs);
  });

  it("is spread downwards, never above the ceiling", () => {
    expect(backoffDelayMs(9, backoff, shortest)).toBe(800);
    expect(backoffDelayMs(9, { ...backoff, jitter: 0 }, shortest)).toBe(1_000);
  });
});
