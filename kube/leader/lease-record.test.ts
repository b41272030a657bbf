import { describe, expect, it } from "vitest";
import type { Lease } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { aStored } from "../../test/support/fakes/scripted-collection.ts";
import { heldBy, isFree, type LeaseSpec, observe, released } from "./lease-record.ts";

const noon = new Date("2026-01-01T12:00:00Z");
const inMicros = "2026-01-01T12:00:00.000000Z";
const aLease = (spec: LeaseSpec, version = "1"): Stored<Lease> => ({ ...aStored("lease", version), spec });
const held = { holderIdentity: "other", leaseDurationSeconds: 15, leaseTransitions: 3 };

describe("a lease", () => {
  it.each([
    { what: "ours", spec: { ...held, holderIdentity: "me" }, ageMs: 0, free: true },
    { what: "released by an empty holder", spec: { holderIdentity: "" }, ageMs: 0, free: true },
    { what: "released by no holder", spec: {}, ageMs: 0, free: true },
    { what: "another's, just short of its end", spec: held, ageMs: 14_999, free: false },
    { what: "another's, at its end", spec: held, ageMs: 15_000, free: true },
    {
      what: "another's, and longer than ours",
      spec: { ...held, leaseDurationSeconds: 60 },
      ageMs: 59_999,
      free: false,
    },
    { what: "another's, without a length", spec: { holderIdentity: "other" }, ageMs: 14_999, free: false },
  ])("that is $what and unchanged for $ageMs ms is free: $free", ({ spec, ageMs, free }) => {
    expect(isFree({ lease: aLease(spec), sinceMs: 1_000 }, "me", 15_000, 1_000 + ageMs)).toBe(free);
  });

  it("has the age of the last observed change, not of the times in it", () => {
    const first = observe(undefined, aLease({ ...held, renewTime: "2099-01-01T00:00:00.000000Z" }), 1_000);
    expect(observe(first, aLease(held), 9_000).sinceMs).toBe(1_000);
    expect(observe(first, aLease(held, "2"), 9_000).sinceMs).toBe(9_000);
  });

  it("counts a transition when it changes hands, and keeps its beginning when it is renewed", () => {
    expect(heldBy(undefined, "me", 15_000, noon)).toEqual({
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      acquireTime: inMicros,
      renewTime: inMicros,
      leaseTransitions: 0,
    });
    expect(heldBy(held, "me", 15_000, noon)).toMatchObject({ acquireTime: inMicros, leaseTransitions: 4 });
    const ours = { ...held, holderIdentity: "me", acquireTime: "2025-12-31T00:00:00.000000Z" };
    expect(heldBy(ours, "me", 15_000, noon)).toMatchObject({
      acquireTime: ours.acquireTime,
      renewTime: inMicros,
      leaseTransitions: 3,
    });
  });

  it("has no holder once it was released, and keeps count", () => {
    expect(released(held, noon)).not.toHaveProperty("holderIdentity");
    expect(released(held, noon)).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 3 });
  });
});
