import { expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu-time.ts";
import type { JsonObject } from "../json-values.ts";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

const owners = (from: number, to: number, more: JsonObject = {}) => ({
  metadata: {
    ownerReferences: Array.from({ length: to - from }, (_, index) => ({ uid: `u${from + index}`, name: "a", ...more })),
  },
});

it("a strategic merge patch of 40,000 items adds, changes and deletes each by its key", () => {
  const all = strategicMergePatch({}, owners(0, 40_000));
  const changed = strategicMergePatch(all, owners(0, 20_000, { name: "b" }));
  const left = strategicMergePatch(changed, owners(10_000, 40_000, { $patch: "delete" }));
  expect(all).toEqual(owners(0, 40_000));
  expect(left).toEqual(owners(0, 10_000, { name: "b" }));
});

it("a strategic merge patch deletes each item with a key, and changes the first one", () => {
  const twice = { metadata: { ownerReferences: [{ uid: "u" }, { uid: "v" }, { uid: "u" }] } };
  const change = { metadata: { ownerReferences: [{ uid: "u", name: "n" }] } };
  expect(strategicMergePatch(twice, change)).toEqual({
    metadata: { ownerReferences: [{ uid: "u", name: "n" }, { uid: "v" }, { uid: "u" }] },
  });
  const deletion = { metadata: { ownerReferences: [{ uid: "u", $patch: "delete" }] } };
  expect(strategicMergePatch(twice, deletion)).toEqual({ metadata: { ownerReferences: [{ uid: "v" }] } });
});

it("a strategic merge patch of 100,000 items with one key takes little time", () => {
  const ownerReferences = Array.from({ length: 100_000 }, () => ({ uid: "u" }));
  const same = { metadata: { ownerReferences } };
  let merged: JsonObject = {};
  expect(cpuMs(() => (merged = strategicMergePatch(same, same)))).toBeLessThan(2_000);
  expect(merged).toEqual(same);
});

const rejected = expect.objectContaining({ code: 422 });
const manyOf = <T>(value: T) => Array.from({ length: 20_000 }, () => value);
const oneOwner = (item: JsonObject) => ({ metadata: { ownerReferences: [{ uid: "u", ...item }] } });

it.each([
  { what: "fields", target: oneOwner(Object.fromEntries(manyOf("").map((_, at) => [`f${at}`, 1]))), item: {} },
  { what: "items", target: oneOwner({ env: manyOf({ name: "A" }) }), item: { env: [{ name: "A" }] } },
  {
    what: "values",
    target: oneOwner({ finalizers: manyOf("").map((_, at) => `f${at}`) }),
    item: { finalizers: ["a"] },
  },
  {
    what: "items to remove",
    target: oneOwner({ finalizers: manyOf("a") }),
    item: { "$deleteFromPrimitiveList/finalizers": ["b"] },
  },
  {
    what: "items to sort",
    target: oneOwner({ env: manyOf({ name: "A" }) }),
    item: { "$setElementOrder/env": [{ name: "A" }] },
  },
])(
  "a strategic merge patch that copies a large item once for each of its own is refused: $what",
  ({ target, item }) => {
    const patch = { metadata: { ownerReferences: manyOf({ uid: "u", ...item }) } };
    expect(cpuMs(() => expect(() => strategicMergePatch(target, patch)).toThrow(rejected))).toBeLessThan(5_000);
  },
);
