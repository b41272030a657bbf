import { describe, expect, it } from "vitest";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { aMember } from "../../../test/support/builders/extension-builders.ts";
import { decideSize, type Situation } from "./decide-size.ts";

const ref = { sandboxTemplateRef: { name: "tpl" } };
const members = (count: number) => Array.from({ length: count }, (_, at) => named(`warm-${at}`, true, at));

const named = (name: string, ready: boolean, bornSecond: number): Stored<Sandbox> =>
  aMember({ ready, metadata: { name, creationTimestamp: `2026-01-01T12:00:${String(bornSecond).padStart(2, "0")}Z` } });

function decided(desired: number | undefined, count: number, more: Partial<Situation["census"] & Situation> = {}) {
  const { active = members(count), terminating = 0, unsettled = 0, ...situation } = more;
  return decideSize({
    spec: { ...ref, ...(desired !== undefined && { replicas: desired }) },
    census: { active, terminating, unsettled },
    templateKnown: true,
    heldMs: 0,
    maxBatch: 300,
    ...situation,
  });
}
const create = (count: number) => ({ do: "create", count });
const nothing = { do: "nothing" };

describe("the size of a pool", () => {
  it.each([
    ["is one if it is not set", undefined, 0, create(1)],
    ["is what is asked for", 3, 0, create(3)],
    ["counts what there is", 3, 2, create(1)],
    ["is left alone when it is right", 3, 3, nothing],
    ["grows by a batch in one pass", 1_000, 0, create(300)],
  ])("%s", (_, desired, count, expected) => {
    expect(decided(desired, count)).toEqual(expected);
  });

  it("shrinks by those first that are not ready, then by the newest", () => {
    const active = [named("old", true, 1), named("new", true, 9), named("cold", false, 2), named("newer", true, 10)];
    expect(decided(1, 0, { active })).toEqual({ do: "remove", members: [active[2], active[3], active[1]] });
  });

  it("may be none at all", () => {
    expect(decided(0, 2)).toEqual({ do: "remove", members: [...members(2)].reverse() });
    expect(decided(0, 0)).toEqual(nothing);
  });

  it("shrinks by a batch in one pass", () => {
    expect(decided(0, 5, { maxBatch: 2 })).toMatchObject({ members: [{}, {}] });
  });

  it("does not grow into a place before it is free", () => {
    expect(decided(1, 0, { terminating: 1 })).toEqual(nothing);
    expect(decided(3, 1, { terminating: 1 })).toEqual(create(1));
    expect(decided(3, 1, { terminating: 9 })).toEqual(nothing);
    expect(decided(2, 1, { unsettled: 1 })).toEqual(nothing);
  });

  it("does not grow without a template, but may shrink", () => {
    expect(decided(3, 1, { templateKnown: false })).toEqual(nothing);
    expect(decided(1, 3, { templateKnown: false })).toMatchObject({ do: "remove" });
  });

  it("does not grow while it is held, but may shrink", () => {
    expect(decided(3, 2, { heldMs: 700 })).toEqual({ do: "wait", forMs: 700 });
    expect(decided(1, 3, { heldMs: 700 })).toMatchObject({ do: "remove" });
    expect(decided(3, 3, { heldMs: 700 })).toEqual(nothing);
  });
});
