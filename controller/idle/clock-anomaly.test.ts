import { describe, expect, it } from "vitest";
import { clockAnomalyBetween, turnAfter } from "./clock-anomaly.ts";

describe("time that passes", () => {
  const before = { wallMs: 1_000_000, ticksMs: 500 };

  it.each([
    { what: "as expected", wallMs: 1_001_000, ticksMs: 1_500, is: undefined },
    { what: "a little late", wallMs: 1_008_000, ticksMs: 8_500, is: undefined },
    { what: "while the process is paused for a minute", wallMs: 1_060_000, ticksMs: 60_500, is: "pause" },
    { what: "with the clock set forth by an hour", wallMs: 4_601_000, ticksMs: 1_500, is: "jump" },
    { what: "with the clock set back by an hour", wallMs: -2_599_000, ticksMs: 1_500, is: "jump" },
  ])("$what is a disturbance: $is", ({ wallMs, ticksMs, is }) => {
    expect(clockAnomalyBetween(before, { wallMs, ticksMs }, 1_000)).toBe(is);
  });
});

describe("the turns after a disturbance", () => {
  const uids = Array.from(
    { length: 1_000 },
    (_, index) => `b6d8c1f4-0000-4000-8000-${String(index).padStart(12, "0")}`,
  );

  it("are spread evenly over two minutes", () => {
    const perTenSeconds = new Array<number>(12).fill(0);
    for (const uid of uids) {
      const slot = Math.floor((turnAfter(5_000, uid, 300_000) - 5_000) / 10_000);
      perTenSeconds[slot] = (perTenSeconds[slot] ?? 0) + 1;
    }
    for (const count of perTenSeconds) expect(count).toBeGreaterThan(50);
  });

  it("are within the time-out of a sandbox that has a short one", () => {
    const latest = Math.max(...uids.map((uid) => turnAfter(0, uid, 30_000)));
    expect(latest).toBeLessThan(30_000);
  });
});
