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
