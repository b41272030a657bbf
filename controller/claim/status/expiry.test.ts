import { describe, expect, it } from "vitest";
import type { ClaimLifecycle } from "../../../api/kinds/sandbox-claim.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aCondition, aSandboxClaim } from "../../../test/support/builders/claim-builders.ts";
import { expiryOf, isExpired } from "./expiry.ts";

const finished = { conditions: [aCondition({ type: "Finished", status: "True", lastTransitionTime: noon })] };
const noonPlus = (seconds: number) => new Date(new Date(noon).getTime() + seconds * 1_000);
const expiry = (lifecycle: ClaimLifecycle | undefined, status = finished) =>
  expiryOf(aSandboxClaim(lifecycle && { lifecycle }, {}, status));

describe("the time of a claim", () => {
  it("never ends without a lifecycle", () => {
    expect(expiry(undefined)).toBeUndefined();
  });

  it("never ends without a limit, finished or not", () => {
    expect(expiry({ shutdownPolicy: "Delete" })).toBeUndefined();
  });

  it("does not end by a limit after the end of a Pod that runs", () => {
    expect(expiry({ ttlSecondsAfterFinished: 0 }, { conditions: [] })).toBeUndefined();
    const not = { conditions: [aCondition({ type: "Finished", status: "False" })] };
    expect(expiry({ ttlSecondsAfterFinished: 0 }, not)).toBeUndefined();
  });

  it("ends so long after its Pod has", () => {
    expect(expiry({ ttlSecondsAfterFinished: 30 })).toEqual(noonPlus(30));
  });

  it("ends at the earlier of two limits", () => {
    expect(expiry({ ttlSecondsAfterFinished: 30, shutdownTime: noonPlus(10).toISOString() })).toEqual(noonPlus(10));
    expect(expiry({ ttlSecondsAfterFinished: 5, shutdownTime: noonPlus(10).toISOString() })).toEqual(noonPlus(5));
  });

  it("never ends at a malformed time that an API server accepts", () => {
    expect(expiry({ shutdownTime: "2025-01-01T00:00:00+24:00" }, { conditions: [] })).toBeUndefined();
    expect(expiry({ shutdownTime: "2025-01-01T00:00:00ZT", ttlSecondsAfterFinished: 30 })).toEqual(noonPlus(30));
  });

  it("is over at that very moment", () => {
    const claim = aSandboxClaim({ lifecycle: { shutdownTime: noon } });
    expect([noonPlus(-1), noonPlus(0), noonPlus(1)].map((now) => isExpired(claim, now))).toEqual([false, true, true]);
  });
});
