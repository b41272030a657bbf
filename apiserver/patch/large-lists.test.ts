import { expect, it } from "vitest";
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
