import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/clock.ts";
import { Expectations } from "./expectations.ts";

const minute = 60_000;

function open() {
  const clock = new FakeClock();
  return { clock, expectations: new Expectations(clock) };
}

describe("expected creations", () => {
  it("W42: keep everybody from creating until each has been seen", () => {
    const { expectations } = open();
    expect(expectations.tryExpectCreations("pool", 2)).toBe(true);
    expect(expectations.tryExpectCreations("pool", 1)).toBe(false);
    expectations.lowerCreations("pool");
    expect(expectations.pendingCreations("pool")).toBe(1);
    expect(expectations.satisfied("pool")).toBe(false);
    expectations.lowerCreations("pool");
    expect(expectations.satisfied("pool")).toBe(true);
    expect(expectations.tryExpectCreations("pool", 1)).toBe(true);
  });

  it("W44: end when the calls that were to follow are never made", () => {
    const { expectations } = open();
    expectations.tryExpectCreations("pool", 8);
    expectations.lowerCreations("pool", 5);
    expectations.lowerCreations("pool", 3);
    expect(expectations.tryExpectCreations("pool", 5)).toBe(true);
  });

  it("never fall below none, whoever else makes children", () => {
    const { expectations } = open();
    expectations.lowerCreations("pool");
    expectations.tryExpectCreations("pool", 1);
    expectations.lowerCreations("pool", 7);
    expect(expectations.pendingCreations("pool")).toBe(0);
    expectations.tryExpectCreations("pool", 1);
    expect(expectations.satisfied("pool")).toBe(false);
  });

  it("are of no use for nothing", () => {
    const { expectations } = open();
    expect(expectations.tryExpectCreations("pool", 0)).toBe(false);
    expect(expectations.tryExpectCreations("pool", -1)).toBe(false);
    expect(expectations.satisfied("pool")).toBe(true);
  });

  it("are each owner's own", () => {
    const { expectations } = open();
    expectations.tryExpectCreations("pool", 1);
    expect(expectations.tryExpectCreations("other", 1)).toBe(true);
  });
});

describe("an expected deletion", () => {
  it("W41: is pending until it has been observed", () => {
    const { expectations } = open();
    expectations.expectDeletion("pool", "a");
    expect(expectations.isPendingDeletion("pool", "a")).toBe(true);
    expect(expectations.tryExpectCreations("pool", 1)).toBe(false);
    expectations.deletionObserved("pool", "b");
    expect(expectations.satisfied("pool")).toBe(false);
    expectations.deletionObserved("pool", "a");
    expect(expectations.isPendingDeletion("pool", "a")).toBe(false);
    expect(expectations.satisfied("pool")).toBe(true);
  });

  it("W48: without a UID is none", () => {
    const { expectations } = open();
    expectations.expectDeletion("pool", "");
    expect(expectations.satisfied("pool")).toBe(true);
    expect(expectations.isPendingDeletion("pool", "")).toBe(false);
  });

  it("does not hide that creations are expected too", () => {
    const { expectations } = open();
    expectations.tryExpectCreations("pool", 1);
    expectations.expectDeletion("pool", "a");
    expectations.deletionObserved("pool", "a");
    expect(expectations.satisfied("pool")).toBe(false);
  });
});

describe("what was expected for too long", () => {
  it("W46: counts as seen after five minutes", async () => {
    const { clock, expectations } = open();
    expectations.tryExpectCreations("pool", 1);
    expectations.expectDeletion("pool", "a");
    await clock.advance(5 * minute - 1);
    expect(expectations.satisfied("pool")).toBe(false);
    await clock.advance(1);
    expect(expectations.isPendingDeletion("pool", "a")).toBe(false);
    expect(expectations.satisfied("pool")).toBe(true);
  });

  it("W47: is waited for anew when more is expected", async () => {
    const { clock, expectations } = open();
    expectations.tryExpectCreations("pool", 1);
    await clock.advance(4 * minute);
    expectations.expectDeletion("pool", "a");
    await clock.advance(2 * minute);
    expect(expectations.satisfied("pool")).toBe(false);
    expect(expectations.pendingCreations("pool")).toBe(1);
  });

  it("W49: is forgotten with its owner", () => {
    const { expectations } = open();
    expectations.tryExpectCreations("pool", 1);
    expectations.forget("pool");
    expect(expectations.satisfied("pool")).toBe(true);
  });
});
