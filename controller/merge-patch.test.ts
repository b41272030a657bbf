import { describe, expect, it } from "vitest";
import { propagatedLabelsAnnotation, sandboxNameHashLabel } from "../api/rules/keys.ts";
import { nameHash } from "../api/rules/names.ts";
import { aPodOf, aSandbox } from "../test/support/builders/builders.ts";
import { aSandboxClaim } from "../test/support/builders/claim-builders.ts";
import { claimedPodMetadata } from "./claim/create/claimed-pod-metadata.ts";
import { mapPatch, objectPatch } from "./merge-patch.ts";
import { podMetadataPatch } from "./sandbox/pod-metadata.ts";
import { semanticallyEqual } from "./semantic-equality.ts";

const named = (key: string, value: string): Record<string, string> => Object.fromEntries([[key, value]]);

describe.each(["constructor", "toString", "__proto__", "ordinary"])("a key %s", (key) => {
  it("is set in a map, changed, left and taken off", () => {
    expect(Object.entries(mapPatch({}, named(key, "x")) ?? {})).toEqual([[key, "x"]]);
    expect(Object.entries(mapPatch(named(key, "x"), named(key, "y")) ?? {})).toEqual([[key, "y"]]);
    expect(mapPatch(named(key, "x"), named(key, "x"))).toBeUndefined();
    expect(Object.entries(mapPatch(named(key, "x"), {}) ?? {})).toEqual([[key, null]]);
  });

  it("is set in an object, changed deep down, left and taken off", () => {
    const holding = (value: unknown) => Object.fromEntries([[key, value]]);
    const patchOf = (from: unknown, to: unknown) => Object.entries(objectPatch(holding(from), holding(to)) ?? {});
    expect(Object.entries(objectPatch({}, holding({ a: 1 })) ?? {})).toEqual([[key, { a: 1 }]]);
    expect(patchOf({ a: 1, b: 2 }, { a: 2, b: 2 })).toEqual([[key, { a: 2 }]]);
    expect(patchOf({ a: 1 }, { a: 1 })).toEqual([]);
    expect(Object.entries(objectPatch(holding(1), {}) ?? {})).toEqual([[key, null]]);
  });

  it("that is empty is equal to an absent one", () => {
    expect(semanticallyEqual(Object.fromEntries([[key, {}]]), {})).toBe(true);
  });

  it("is given to its Pod by a claim, unless the template gives it another value", () => {
    const claim = aSandboxClaim({ additionalPodMetadata: { annotations: named(key, "x") } });
    expect(Object.entries(claimedPodMetadata({}, claim, "h").annotations)).toEqual([[key, "x"]]);
    const template = { metadata: { annotations: named(key, "y") } };
    expect(() => claimedPodMetadata(template, claim, "h")).toThrow(`annotation ${key} of the SandboxTemplate`);
  });

  it("is taken off the Pod when the template no longer gives it", () => {
    const labels = { ...named(key, "x"), [sandboxNameHashLabel]: nameHash("nova") };
    const pod = aPodOf(aSandbox(), { labels, annotations: { [propagatedLabelsAnnotation]: key } });
    const { labels: patch } = podMetadataPatch(aSandbox(), pod) as { readonly labels: object };
    expect(Object.entries(patch)).toEqual([[key, null]]);
  });
});
