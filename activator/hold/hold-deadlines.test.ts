import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { holdTimeoutMs } from "../connect/hold-timeout.ts";
import { type Expiring, HoldDeadlines } from "./hold-deadlines.ts";

describe("the time that a request may be held", () => {
  it.each([
    { allowed: [120_000, undefined, 900_000], limit: 114_000 },
    { allowed: [120_000, 60_000, 900_000], limit: 57_000 },
    { allowed: [120_000, 10_000], limit: 9_000 },
    { allowed: [120_000, 1_000], limit: 500 },
  ])("is $limit ms where $allowed ms are allowed", ({ allowed, limit }) => {
    expect(holdTimeoutMs(...allowed)).toBe(limit);
  });
});

/** A held request, and its outcomes. */
function waiting(holds: HoldDeadlines) {
  const outcomes: string[] = [];
  const held: Expiring = {
    timedOut: () => void outcomes.push("timed out"),
    end: ({ code }) => void outcomes.push(code),
  };
  return { held, outcomes, until: (limitMs: number) => holds.begin(held, limitMs) };
}

describe("held requests", () => {
  it("fail at their own limit, and leave no timer", async () => {
    const clock = new FakeClock();
    const holds = new HoldDeadlines(clock);
    const [late, early, never] = [waiting(holds), waiting(holds), waiting(holds)];
    late.until(2_000);
    never.until(500);
    early.until(1_000);
    expect(clock.pending).toBe(1);
    holds.over(never.held);
    await clock.advance(999);
    expect(early.outcomes).toEqual([]);
    await clock.advance(1);
    expect([early.outcomes, late.outcomes]).toEqual([["timed out"], []]);
    await clock.advance(1_000);
    expect([late.outcomes, never.outcomes]).toEqual([["timed out"], []]);
    expect(clock.pending).toBe(0);
  });

  it("leave no timer when they succeed", () => {
    const clock = new FakeClock();
    const holds = new HoldDeadlines(clock);
    const { held, until } = waiting(holds);
    until(1_000);
    holds.over(held);
    expect(clock.pending).toBe(0);
  });

  it("all fail once when the replica exits", async () => {
    const clock = new FakeClock();
    const holds = new HoldDeadlines(clock);
    const all = Array.from({ length: 1_000 }, () => waiting(holds));
    for (const { until } of all) until(1_000);
    holds.endAll();
    await clock.advance(2_000);
    await eventually(() => all.every(({ outcomes }) => outcomes.length > 0));
    expect(new Set(all.flatMap(({ outcomes }) => outcomes))).toEqual(new Set(["Draining"]));
    expect(all.flatMap(({ outcomes }) => outcomes)).toHaveLength(all.length);
  });
});
