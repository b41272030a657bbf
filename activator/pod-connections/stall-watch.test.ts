import { describe, expect, it } from "vitest";
import { StallWatch } from "./stall-watch.ts";

function given(limitMs: number) {
  const watch = new StallWatch();
  watch.limit(limitMs, 0);
  watch.isStalled(0, 0);
  return watch;
}

describe("an exchange", () => {
  it("stalls once no byte has moved for its limit", () => {
    const watch = given(1_000);
    expect(watch.isStalled(0, 999)).toBe(false);
    expect(watch.isStalled(1, 999)).toBe(false);
    expect(watch.isStalled(1, 1_998)).toBe(false);
    expect(watch.isStalled(1, 1_999)).toBe(true);
  });

  it("without a limit never stalls while its Pod exists", () => {
    expect(given(0).isStalled(0, 3_600_000)).toBe(false);
  });
});

describe("an exchange that is looked at when the watch says so", () => {
  /** The times of all looks in steps of 100 ms, until it has stalled. */
  function looks(watch: StallWatch, progressAt: (nowMs: number) => number): number[] {
    const times: number[] = [];
    for (let [nowMs, nextMs] = [100, 0]; ; nowMs += 100) {
      if (nowMs < nextMs) continue;
      times.push(nowMs);
      if (watch.isStalled(progressAt(nowMs), nowMs)) return times;
      nextMs = watch.nextLookMs(nowMs);
    }
  }

  it("stalls after its limit exactly, after few looks", () => {
    const times = looks(given(3_600_000), () => 0);
    expect(times.at(-1)).toBe(3_600_000);
    expect(times.length).toBeLessThan(100);
  });

  it("stalls at most an eighth later after a pause", () => {
    const times = looks(given(3_600_000), (nowMs) => (nowMs < 1_800_000 ? 0 : 1));
    expect(times.at(-1)).toBeGreaterThanOrEqual(1_800_000 + 3_600_000);
    expect(times.at(-1)).toBeLessThanOrEqual(1_800_000 * 1.125 + 3_600_000 + 100);
  });

  it("has no next look without a limit, until its Pod is gone", () => {
    const watch = given(0);
    expect(watch.nextLookMs(100)).toBe(Number.POSITIVE_INFINITY);
    watch.podGone(200);
    expect(watch.nextLookMs(200)).toBe(200);
  });
});

describe("an exchange with a Pod that is gone", () => {
  it.each([0, 60_000])("stalls after 5 s without a byte, though its limit is set to %s ms later", (limitMs) => {
    const watch = given(0);
    watch.podGone(0);
    watch.limit(limitMs, 1_000);
    expect(watch.isStalled(0, 5_999)).toBe(false);
    expect(watch.isStalled(0, 6_000)).toBe(true);
  });

  it("stalls after 30 s, though bytes move", () => {
    const watch = given(0);
    watch.podGone(0);
    for (let at = 1_000; at < 30_000; at += 1_000) expect(watch.isStalled(at, at)).toBe(false);
    expect(watch.isStalled(30_000, 30_000)).toBe(true);
  });
});
