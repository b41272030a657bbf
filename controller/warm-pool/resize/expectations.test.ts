import { describe, expect, it, vi } from "vitest";
import type { Written } from "../../../kube/informer/informer.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { Expectations } from "./expectations.ts";

const minute = 60_000;

function open() {
  const clock = new FakeClock();
  const store = { hasSeen: vi.fn((_: Written) => true) };
  const expectations = new Expectations(clock, store);
  const tryToExpect = (owner: string, count: number) =>
    expectations.tryExpectCreations(expectations.snapshot(owner), count);
  return { clock, store, expectations, tryToExpect };
}

describe("expected creations", () => {
  it("prevent creations until each has been seen", () => {
    const { expectations, tryToExpect } = open();
    expect(tryToExpect("pool", 2)).toBe(true);
    expect(tryToExpect("pool", 1)).toBe(false);
    expectations.lowerCreations("pool");
    expect(expectations.snapshot("pool").pendingCreations).toBe(1);
    expect(expectations.snapshot("pool").satisfied).toBe(false);
    expectations.lowerCreations("pool");
    expect(expectations.snapshot("pool").satisfied).toBe(true);
    expect(tryToExpect("pool", 1)).toBe(true);
  });

  it("end when the calls that were to follow are never made", () => {
    const { expectations, tryToExpect } = open();
    tryToExpect("pool", 8);
    expectations.lowerCreations("pool", 5);
    expectations.lowerCreations("pool", 3);
    expect(tryToExpect("pool", 5)).toBe(true);
  });

  it("never fall below zero, also if others create children", () => {
    const { expectations, tryToExpect } = open();
    expectations.lowerCreations("pool");
    tryToExpect("pool", 1);
    expectations.lowerCreations("pool", 7);
    expect(expectations.snapshot("pool").pendingCreations).toBe(0);
    tryToExpect("pool", 1);
    expect(expectations.snapshot("pool").satisfied).toBe(false);
  });

  it("are of no use for nothing", () => {
    const { expectations, tryToExpect } = open();
    expect(tryToExpect("pool", 0)).toBe(false);
    expect(tryToExpect("pool", -1)).toBe(false);
    expect(expectations.snapshot("pool").satisfied).toBe(true);
  });

  it("are each owner's own", () => {
    const { tryToExpect } = open();
    tryToExpect("pool", 1);
    expect(tryToExpect("other", 1)).toBe(true);
  });
});

describe("a reconcile that has read and then waited", () => {
  it("may not create what it counted as missing before that was seen", () => {
    const { expectations, tryToExpect } = open();
    tryToExpect("pool", 1);
    const snapshot = expectations.snapshot("pool");
    expectations.lowerCreations("pool");
    expect(expectations.snapshot("pool").satisfied).toBe(true);
    expect(expectations.tryExpectCreations(snapshot, 1)).toBe(false);
  });

  it("may not create what another pass has created meanwhile", () => {
    const { expectations, tryToExpect } = open();
    const snapshot = expectations.snapshot("pool");
    tryToExpect("pool", 1);
    expectations.lowerCreations("pool");
    expect(expectations.tryExpectCreations(snapshot, 1)).toBe(false);
    expect(tryToExpect("pool", 1)).toBe(true);
  });
});

describe("an expected deletion", () => {
  it("is pending until it has been observed", () => {
    const { expectations, tryToExpect } = open();
    expectations.expectDeletion("pool", "a");
    expect(expectations.isPendingDeletion("pool", "a")).toBe(true);
    expect(tryToExpect("pool", 1)).toBe(false);
    expectations.deletionObserved("pool", "b");
    expect(expectations.snapshot("pool").satisfied).toBe(false);
    expectations.deletionObserved("pool", "a");
    expect(expectations.isPendingDeletion("pool", "a")).toBe(false);
    expect(expectations.snapshot("pool").satisfied).toBe(true);
  });

  it("without a UID is none", () => {
    const { expectations } = open();
    expectations.expectDeletion("pool", "");
    expect(expectations.snapshot("pool").satisfied).toBe(true);
    expect(expectations.isPendingDeletion("pool", "")).toBe(false);
  });

  it("does not hide that creations are expected too", () => {
    const { expectations, tryToExpect } = open();
    tryToExpect("pool", 1);
    expectations.expectDeletion("pool", "a");
    expectations.deletionObserved("pool", "a");
    expect(expectations.snapshot("pool").satisfied).toBe(false);
  });
});

describe("what was expected for too long", () => {
  it("counts as seen after five minutes", async () => {
    const { clock, expectations, tryToExpect } = open();
    tryToExpect("pool", 1);
    expectations.expectDeletion("pool", "a");
    await clock.advance(5 * minute - 1);
    expect(expectations.snapshot("pool").satisfied).toBe(false);
    await clock.advance(1);
    expect(expectations.isPendingDeletion("pool", "a")).toBe(false);
    expect(expectations.snapshot("pool").satisfied).toBe(true);
  });

  it("is waited for as long as the store has not come as far as the writes", async () => {
    const { clock, store, expectations, tryToExpect } = open();
    store.hasSeen.mockReturnValue(false);
    tryToExpect("pool", 1);
    expectations.expectDeletion("pool", "a");
    await clock.advance(60 * minute);
    expect(expectations.isPendingDeletion("pool", "a")).toBe(true);
    expect(expectations.snapshot("pool").pendingCreations).toBe(1);
    expect(tryToExpect("pool", 1)).toBe(false);
    store.hasSeen.mockReturnValue(true);
    expect(tryToExpect("pool", 1)).toBe(true);
  });

  it("is compared with the store by the latest of its writes", async () => {
    const { clock, store, expectations, tryToExpect } = open();
    tryToExpect("pool", 3);
    await clock.advance(1_000);
    for (const version of ["9", "11", "10"]) expectations.written("pool", version);
    await clock.advance(1_000);
    expectations.written("other", "99");
    await clock.advance(5 * minute);
    expect(expectations.snapshot("pool").satisfied).toBe(true);
    expect(store.hasSeen).toHaveBeenLastCalledWith({ atMs: 1_000, version: "11" });
    expectations.expectDeletion("pool", "a");
    await clock.advance(5 * minute);
    expect(expectations.isPendingDeletion("pool", "a")).toBe(false);
    expect(store.hasSeen).toHaveBeenLastCalledWith({ atMs: 302_000, version: undefined });
  });

  it("is waited for anew when more is expected", async () => {
    const { clock, expectations, tryToExpect } = open();
    tryToExpect("pool", 1);
    await clock.advance(4 * minute);
    expectations.expectDeletion("pool", "a");
    await clock.advance(2 * minute);
    expect(expectations.snapshot("pool").satisfied).toBe(false);
    expect(expectations.snapshot("pool").pendingCreations).toBe(1);
  });

  it("is forgotten with its owner", () => {
    const { expectations, tryToExpect } = open();
    tryToExpect("pool", 1);
    expectations.forget("pool");
    expect(expectations.snapshot("pool").satisfied).toBe(true);
  });
});
