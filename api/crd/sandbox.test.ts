import { type CelInput, CelScalar, celEnv, celMethod, listType, parse, plan } from "@bufbuild/cel";
import { describe, expect, it } from "vitest";
import type { ValidationRule } from "./json-schema.ts";
import { sandboxDefinition } from "./sandbox.ts";

// CEL has optional values only in the API server's own dialect; a list of at most one item behaves the same here.
const optional = listType(CelScalar.DYN);
const env = celEnv({
  funcs: [
    celMethod("hasValue", optional, [], CelScalar.BOOL, function () {
      return this.size > 0;
    }),
    celMethod("value", optional, [], CelScalar.DYN, function () {
      return this.get(0) ?? null;
    }),
  ],
});

function allows({ rule }: ValidationRule, self: CelInput, oldSelf: CelInput): boolean {
  return plan(env, parse(rule))({ self, oldSelf }) === true;
}

const [v1beta1, v1alpha1] = sandboxDefinition.spec.versions.map(({ schema }) => schema.openAPIV3Schema);

describe("volumeClaimTemplates", () => {
  const [rule, ...others] = v1beta1?.properties?.["spec"]?.["x-kubernetes-validations"] ?? [];
  const one = [{ metadata: { name: "data" }, spec: {} }];
  const two = [...one, { metadata: { name: "cache" }, spec: {} }];

  it.each([
    { was: "absent", becomes: "absent", self: {}, oldSelf: {}, allowed: true },
    {
      was: "the same",
      becomes: "the same",
      self: { volumeClaimTemplates: one },
      oldSelf: { volumeClaimTemplates: one },
      allowed: true,
    },
    { was: "absent", becomes: "present", self: { volumeClaimTemplates: one }, oldSelf: {}, allowed: false },
    { was: "present", becomes: "absent", self: {}, oldSelf: { volumeClaimTemplates: one }, allowed: false },
    {
      was: "one",
      becomes: "two",
      self: { volumeClaimTemplates: two },
      oldSelf: { volumeClaimTemplates: one },
      allowed: false,
    },
  ])("that were $was and become $becomes are allowed: $allowed", ({ self, oldSelf, allowed }) => {
    expect(rule && allows(rule, self, oldSelf)).toBe(allowed);
  });

  it("are refused with the sentence that clients know, and by v1beta1 alone", () => {
    expect(rule?.message).toBe("volumeClaimTemplates is immutable");
    expect(others).toEqual([]);
    expect(v1alpha1?.properties?.["spec"]).not.toHaveProperty("x-kubernetes-validations");
  });
});

describe("a Sandbox whose name is not a DNS label", () => {
  const [rule] = v1beta1?.["x-kubernetes-validations"] ?? [];
  const sandbox = (length: number, spec: CelInput) => ({ metadata: { name: "x".repeat(length) }, spec });

  it.each([
    { what: "created with 64 characters and a Service", self: sandbox(64, { service: true }), old: [], allowed: false },
    { what: "created with 63 characters and a Service", self: sandbox(63, { service: true }), old: [], allowed: true },
    {
      what: "created with 64 characters and service: false",
      self: sandbox(64, { service: false }),
      old: [],
      allowed: true,
    },
    { what: "created with 64 characters and no word of a Service", self: sandbox(64, {}), old: [], allowed: true },
    {
      what: "of 64 characters that now asks for a Service",
      self: sandbox(64, { service: true }),
      old: [sandbox(64, { service: false })],
      allowed: false,
    },
    {
      what: "of 64 characters that had a Service before the rule existed, in an update",
      self: sandbox(64, { service: true }),
      old: [sandbox(64, { service: true })],
      allowed: true,
    },
  ])("$what is allowed: $allowed", ({ self, old, allowed }) => {
    expect(rule && allows(rule, self, old)).toBe(allowed);
  });

  it("is judged on creation too, and the same in both versions", () => {
    expect(rule?.optionalOldSelf).toBe(true);
    expect(v1alpha1?.["x-kubernetes-validations"]).toEqual([rule]);
  });
});
