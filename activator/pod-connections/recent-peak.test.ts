import { describe, expect, it } from "vitest";
import { RecentPeak } from "./recent-peak.ts";

function given(crowd: number) {
  const peak = new RecentPeak();
  for (let request = 0; request < crowd; request += 1) peak.begin(0);
  for (let request = 0; request < crowd; request += 1) peak.end();
  return peak;
}

describe("a recent peak", () => {
  it("is remembered for at least 5 s and at most 10 s", () => {
    const peak = given(64);
    expect(peak.at(4_999)).toBe(64);
    expect(peak.at(9_999)).toBe(64);
    expect(peak.at(10_000)).toBe(0);
  });

  it("is forgotten after a pause in which nobody asked", () => {
    expect(given(64).at(10_000)).toBe(0);
  });

  it("counts requests that are still in progress in every window", () => {
    const peak = given(64);
    peak.begin(100);
    for (const nowMs of [7_000, 13_000, 60_000]) peak.at(nowMs);
    expect([peak.current, peak.at(60_001)]).toEqual([1, 1]);
  });
});
