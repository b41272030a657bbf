import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/clock.ts";
import { ActivatorError } from "../errors.ts";
import { Holds, holdLimitMs } from "./holds.ts";

describe("the time that a request may be held", () => {
  it.each([
    { allowed: [120_000, undefined, 900_000], limit: 114_000 },
    { allowed: [120_000, 60_000, 900_000], limit: 57_000 },
    { allowed: [120_000, 10_000], limit: 9_000 },
    { allowed: [120_000, 1_000], limit: 500 },
  ])("is $limit ms where $allowed ms are allowed (router 24.1)", ({ allowed, limit }) => {
    expect(holdLimitMs(...allowed)).toBe(limit);
  });
});

describe("a hold", () => {
  it("ends at its limit with the answer for the client, and leaves no timer behind", async () => {
    const clock = new FakeClock();
    const holds = new Holds(clock);
    const gone = new AbortController();
    const hold = holds.begin({ gone: gone.signal }, 1_000, () => new ActivatorError("WakeTimedOut"));
    await clock.advance(999);
    expect(hold.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(hold.signal.reason).toMatchObject({ code: "WakeTimedOut" });
    hold[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it("ends when its client leaves, and when the replica does", () => {
    const holds = new Holds(new FakeClock());
    const gone = new AbortController();
    using first = holds.begin({ gone: gone.signal }, 1_000, () => new ActivatorError("WakeTimedOut"));
    using second = holds.begin({ gone: new AbortController().signal }, 1_000, () => new ActivatorError("WakeTimedOut"));
    gone.abort();
    expect(first.signal.reason).toMatchObject({ name: "ClientGone" });
    holds.endAll();
    expect(second.signal.reason).toMatchObject({ code: "Draining" });
  });
});
