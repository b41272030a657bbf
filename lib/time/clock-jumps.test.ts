import { describe, expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { jumpNoticedWithinMs, onClockJump } from "./clock-jumps.ts";

function watched() {
  const clock = new FakeClock();
  let jumps = 0;
  const watch = onClockJump(clock, () => {
    jumps += 1;
  });
  return { clock, jumps: () => jumps, watch };
}

describe("a jump of the wall clock", () => {
  it.each([3_600_000, -3_600_000])("by %i ms is reported once, within seconds", async (byMs) => {
    const { clock, jumps, watch } = watched();
    using _watch = watch;
    clock.jumpWall(byMs);
    await clock.advance(jumpNoticedWithinMs);
    expect(jumps()).toBe(1);
    await clock.advance(10 * jumpNoticedWithinMs);
    expect(jumps()).toBe(1);
  });

  it("is not reported for passing time, nor for a stopped process", async () => {
    const { clock, jumps, watch } = watched();
    using _watch = watch;
    await clock.advance(3_600_000);
    await clock.pause(3_600_000);
    await clock.advance(jumpNoticedWithinMs);
    expect(jumps()).toBe(0);
  });

  it("is seen where it comes in many small steps", async () => {
    const { clock, jumps, watch } = watched();
    using _watch = watch;
    for (let step = 0; step < 60; step += 1) {
      clock.jumpWall(100);
      await clock.advance(jumpNoticedWithinMs);
    }
    expect(jumps()).toBe(1);
  });

  it("is not reported after the watch is disposed", () => {
    const { clock, watch } = watched();
    watch[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });
});
