import { describe, expect, it } from "vitest";
import { aBetaTemplate, anAlphaTemplate, extensions } from "../../test/support/builders/versions.ts";
import type { SandboxTemplate } from "../kinds/sandbox-template.ts";
import { volumeClaimTemplatesPolicyAnnotation as policyKey, v1alpha1StateAnnotations } from "../rules/keys.ts";
import { allKinds, convert } from "./convert.ts";
import type { SandboxTemplateV1alpha1 } from "./v1alpha1.ts";

const stateKey = v1alpha1StateAnnotations.SandboxTemplate;
const toBeta = (template: SandboxTemplateV1alpha1) => convert(template, extensions.beta) as SandboxTemplate;
const toAlpha = (template: SandboxTemplate) => convert(template, extensions.alpha) as SandboxTemplateV1alpha1;

describe("a SandboxTemplate", () => {
  it.each(["Allowed", "Overrides"] as const)("keeps %s in v1alpha1 in an annotation", (policy) => {
    const older = toAlpha(aBetaTemplate({ volumeClaimTemplatesPolicy: policy }));
    expect(older.metadata.annotations).toEqual({ [policyKey]: policy });
    expect(older.spec).not.toHaveProperty("volumeClaimTemplatesPolicy");
    const back = toBeta(older);
    expect(back.spec.volumeClaimTemplatesPolicy).toBe(policy);
    expect(back.metadata).not.toHaveProperty("annotations");
  });

  it.each(["Disallowed", "", undefined])("has no annotation in v1alpha1 for the default, spelled '%s'", (policy) => {
    // An older writer may have stored an empty string.
    const spec = policy === undefined ? {} : { volumeClaimTemplatesPolicy: policy as "Disallowed" };
    expect(toAlpha(aBetaTemplate(spec)).metadata).not.toHaveProperty("annotations");
  });

  it("has the annotation again with which it was written, while it means the same", () => {
    const original = anAlphaTemplate({ [policyKey]: "Disallowed" });
    const converted = toBeta(original);
    expect(converted.spec.volumeClaimTemplatesPolicy).toBe("Disallowed");
    expect(toAlpha(converted)).toEqual(original);
    const edited = { ...converted, spec: { ...converted.spec, volumeClaimTemplatesPolicy: "Allowed" as const } };
    expect(toAlpha(edited).metadata.annotations).toEqual({ [policyKey]: "Allowed" });
  });

  it.each(["bogus", "", "overrides", "x".repeat(200_000)])(
    "with an invalid policy annotation has the default policy, and the annotation is reported (%#)",
    (policy) => {
      const original = anAlphaTemplate({ [policyKey]: policy });
      const ignored: string[] = [];
      const converted = convert(original, extensions.beta, allKinds, ignored) as SandboxTemplate;
      expect(converted.spec).not.toHaveProperty("volumeClaimTemplatesPolicy");
      expect(ignored.length).toBeGreaterThan(0);
      expect(ignored[0]).toContain("is none of Disallowed, Allowed, Overrides");
      expect(ignored.join("").length).toBeLessThan(1_000);
      expect(toAlpha(converted)).toEqual(original);
    },
  );

  it("without a policy loses a policy annotation", () => {
    const older = toAlpha(aBetaTemplate({}, { [policyKey]: "Overrides", team: "red" }));
    expect(older.metadata.annotations).toEqual({ team: "red" });
  });

  it("is converted back without reading the state", () => {
    const older = toAlpha(aBetaTemplate({}, { [stateKey]: "{" }));
    expect(older.metadata).not.toHaveProperty("annotations");
  });
});
