import { describe, expect, it } from "vitest";
import { keyOf } from "../../../api/kinds/meta.ts";
import { claimFirstReadyAtAnnotation } from "../../../api/rules/keys.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aCondition, aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { firstReadyStep } from "./first-ready.ts";
import { FirstSights, withNanoseconds } from "./first-sights.ts";

const ready = { conditions: [aCondition({ type: "Ready", status: "True" })] };
const unready = { conditions: [aCondition({ type: "Ready", status: "False" })] };
const stamp = (value: string) => ({ annotations: { [claimFirstReadyAtAnnotation]: value } });

describe("the first Ready of a claim", () => {
  it("is recorded in the pass in which it comes", () => {
    expect(firstReadyStep(aSandboxClaim({}, {}, unready), ready)).toBe("record");
    expect(firstReadyStep(aSandboxClaim(), ready)).toBe("record");
  });

  it("is not there while the claim is not ready", () => {
    expect(firstReadyStep(aSandboxClaim({}, {}, unready), unready)).toBeUndefined();
  });

  it("that was not written down is filled in later, also when the claim has just left it", () => {
    expect(firstReadyStep(aSandboxClaim({}, {}, ready), ready)).toBe("backfill");
    expect(firstReadyStep(aSandboxClaim({}, {}, ready), unready)).toBe("backfill");
  });

  it.each([noon, "unknown"])("that is written down as %s is never recorded again", (written) => {
    expect(firstReadyStep(aSandboxClaim({}, stamp(written), unready), ready)).toBeUndefined();
    expect(firstReadyStep(aSandboxClaim({}, stamp(written), ready), unready)).toBeUndefined();
  });
});

describe("the first sight of a claim", () => {
  const claim = aSandboxClaim();
  const again = aSandboxClaim({}, { uid: "uid-of-the-next" });

  it("is that of this very claim, not of an earlier one of its name", async () => {
    const clock = new FakeClock(noon);
    const sights = new FirstSights(clock);
    const first = sights.see(claim).at;
    await clock.advance(1_500);
    expect(sights.see(claim).at).toBe(first);
    expect(sights.see(again).at).toBe("2026-01-01T12:00:01.500000000Z");
    expect(sights.ageMs(again)).toBe(0);
  });

  it("is forgotten with the claim, and that of its successor is kept", () => {
    const sights = new FirstSights(new FakeClock(noon));
    sights.see(again);
    sights.forget(keyOf(claim), claim.metadata.uid);
    expect(sights.size).toBe(1);
    sights.forget(keyOf(again), again.metadata.uid);
    expect(sights.size).toBe(0);
  });

  it.each([
    ["2026-01-01T12:00:00.120Z", "2026-01-01T12:00:00.120000000Z"],
    ["2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00.000000001Z"],
  ])("is written with nanoseconds that are never zero: %s as %s", (at, written) => {
    expect(withNanoseconds(new Date(at))).toBe(written);
  });
});
