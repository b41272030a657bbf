import { describe, expect, it } from "vitest";
import type { ClaimLifecycle } from "../../api/sandbox-claim.ts";
import { noon } from "../../test/support/builders.ts";
import { aCondition, aSandboxClaim } from "../../test/support/claim-builders.ts";
import { expiryOf, isExpired } from "./expiry.ts";

const finished = { conditions: [aCondition({ type: "Finished", status: "True", lastTransitionTime: noon })] };
const noonPlus = (seconds: number) => new Date(new Date(noon).getTime() + seconds * 1_000);
const expiry = (lifecycle: ClaimLifecycle | undefined, status = finished) =>
  expiryOf(aSandboxClaim(lifecycle && { lifecycle }, {}, status));

describe("the time of a claim", () => {
  it("C95: never ends without a lifecycle", () => {
    expect(expiry(undefined)).toBeUndefined();
  });

  it("C92: never ends without a limit, finished or not", () => {
    expect(expiry({ shutdownPolicy: "Delete" })).toBeUndefined();
  });

  it("C88: does not end by a limit after the end of a Pod that runs", () => {
    expect(expiry({ ttlSecondsAfterFinished: 0 }, { conditions: [] })).toBeUndefined();
    const not = { conditions: [aCondition({ type: "Finished", status: "False" })] };
    expect(expiry({ ttlSecondsAfterFinished: 0 }, not)).toBeUndefined();
  });

  it("C89: ends so long after its Pod has", () => {
    expect(expiry({ ttlSecondsAfterFinished: 30 })).toEqual(noonPlus(30));
  });

  it("C91: ends at the earlier of two limits", () => {
    expect(expiry({ ttlSecondsAfterFinished: 30, shutdownTime: noonPlus(10).toISOString() })).toEqual(noonPlus(10));
    expect(expiry({ ttlSecondsAfterFinished: 5, shutdownTime: noonPlus(10).toISOString() })).toEqual(noonPlus(5));
  });

  it("is over at that very moment", () => {
    const claim = aSandboxClaim({ lifecycle: { shutdownTime: noon } });
    expect([noonPlus(-1), noonPlus(0), noonPlus(1)].map((now) => isExpired(claim, now))).toEqual([false, true, true]);
  });
});
