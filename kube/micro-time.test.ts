import { describe, expect, it } from "vitest";
import { MicroTimes } from "./micro-time.ts";

describe("the times of events", () => {
  it("keep the order of events in one millisecond", () => {
    const times = new MicroTimes();
    const now = new Date("2026-01-01T12:00:00.250Z");
    expect([times.of(now), times.of(now), times.of(new Date(now.getTime() + 1))]).toEqual([
      "2026-01-01T12:00:00.250000Z",
      "2026-01-01T12:00:00.250001Z",
      "2026-01-01T12:00:00.251000Z",
    ]);
  });
});
