import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { RetryPauses } from "./retry-pauses.ts";

it("pauses last at most 1 s in the first minute of an outage, then 5 s, and are short again after it", async () => {
  const clock = new FakeClock();
  const pauses = new RetryPauses(clock);
  const longest = { early: 0, late: 0 };
  while (clock.ticksMs() < 180_000) {
    const pauseMs = pauses.failed();
    const when = clock.ticksMs() < 60_000 ? "early" : "late";
    longest[when] = Math.max(longest[when], pauseMs);
    await clock.advance(pauseMs);
  }
  expect(longest.early).toBeGreaterThan(500);
  expect(longest.early).toBeLessThanOrEqual(1_000);
  expect(longest.late).toBeGreaterThan(2_500);
  expect(longest.late).toBeLessThanOrEqual(5_000);
  pauses.succeeded();
  expect(pauses.failed()).toBeLessThanOrEqual(100);
});
