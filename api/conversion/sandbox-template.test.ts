import { describe, expect, it } from "vitest";
import { volumeClaimTemplatesPolicyAnnotation as policyKey, v1alpha1StateAnnotations } from "../../api/keys.ts";
import { aBetaTemplate, anAlphaTemplate, extensions } from "../../test/support/versions.ts";
import { injectionPolicies, type SandboxTemplate } from "../sandbox-template.ts";
import { convert } from "./convert.ts";
import type { SandboxTemplateV1alpha1 } from "./v1alpha1.ts";

const stateKey = v1alpha1StateAnnotations.SandboxTemplate;
const toBeta = (template: SandboxTemplateV1alpha1) => convert(template, extensions.beta) as SandboxTemplate;
const toAlpha = (template: SandboxTemplate) => convert(template, extensions.alpha) as SandboxTemplateV1alpha1;

describe("a SandboxTemplate", () => {
  it.each(injectionPolicies)("V15: carries the policy %s through v1alpha1 in an annotation", (policy) => {
    const older = toAlpha(aBetaTemplate({ volumeClaimTemplatesPolicy: policy }));
    expect(older.metadata.annotations).toEqual({ [policyKey]: policy });
    expect(older.spec).not.toHaveProperty("volumeClaimTemplatesPolicy");
    const back = toBeta(older);
    expect(back.spec.volumeClaimTemplatesPolicy).toBe(policy);
    expect(Object.keys(back.metadata.annotations ?? {})).toEqual([stateKey]);
    expect(JSON.parse(back.metadata.annotations?.[stateKey] ?? "").metadata.annotations).toEqual({
      [policyKey]: policy,
    });
  });

  it.each(["bogus", "", "overrides"])("V16: with the policy annotation '%s' cannot be converted", (policy) => {
    expect(() => toBeta(anAlphaTemplate({ [policyKey]: policy }))).toThrow(
      "invalid VolumeClaimTemplatesPolicy annotation value",
    );
  });

  it("V17: without a policy loses an annotation that speaks of one", () => {
    const older = toAlpha(aBetaTemplate({}, { [policyKey]: "Overrides", team: "red" }));
    expect(older.metadata.annotations).toEqual({ team: "red" });
  });

  it("is converted back without looking at the state", () => {
    const older = toAlpha(aBetaTemplate({}, { [stateKey]: "{" }));
    expect(older.metadata).not.toHaveProperty("annotations");
  });
});
