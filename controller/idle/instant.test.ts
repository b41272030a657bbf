import { describe, expect, it } from "vitest";
import { noon } from "../../test/support/builders/builders.ts";
import { ticksOf } from "./instant.ts";

describe("a time in an object", () => {
  const here = { now: new Date(noon), nowMs: 1_000_000 };

  it.each([
    { time: "2026-01-01T11:59:50Z", ms: 990_000 },
    { time: noon, ms: 1_000_000 },
    { time: "2026-01-01T13:00:00Z", ms: 1_000_000 },
  ])("$time is $ms in monotonic milliseconds", ({ time, ms }) => {
    expect(ticksOf(new Date(time), here)).toBe(ms);
  });
});
