import { describe, expect, it } from "vitest";
import type { VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import type { InjectionPolicy } from "../../../api/kinds/sandbox-template.ts";
import { ClaimProblem } from "../claim-problem.ts";
import { mergeVolumeClaims } from "./merge-volume-claims.ts";

const volume = (name: string, size = "1Gi"): VolumeClaimTemplate => ({
  metadata: { name },
  spec: { resources: { requests: { storage: size } } },
});

function merge(
  policy: InjectionPolicy | "",
  template: readonly VolumeClaimTemplate[],
  claim: readonly VolumeClaimTemplate[],
  podVolumes: readonly string[] = [],
): readonly VolumeClaimTemplate[] | string {
  try {
    return mergeVolumeClaims(
      {
        podTemplate: { spec: { containers: [], volumes: podVolumes.map((name) => ({ name })) } },
        volumeClaimTemplates: template,
        volumeClaimTemplatesPolicy: policy as InjectionPolicy,
      },
      { volumeClaimTemplates: claim },
    );
  } catch (error) {
    return error instanceof ClaimProblem ? error.reason : String(error);
  }
}

describe("volumes that a claim brings", () => {
  it.each(["Disallowed", ""] as const)("are rejected under the policy %o", (policy) => {
    expect(merge(policy, [], [volume("data")])).toBe("VolumeClaimTemplatesError");
  });

  it("may not take the place of the template's under Allowed", () => {
    expect(merge("Allowed", [volume("data")], [volume("data")])).toBe("VolumeClaimTemplatesError");
  });

  it("may not take the place of a volume of the template's Pod under Allowed", () => {
    expect(merge("Allowed", [], [volume("rules")], ["rules"])).toBe("VolumeClaimTemplatesError");
    expect(merge("Allowed", [], [volume("data")], ["rules"])).toEqual([volume("data")]);
    expect(merge("Overrides", [], [volume("rules")], ["rules"])).toEqual([volume("rules")]);
  });

  it("come after the template's", () => {
    expect(merge("Allowed", [volume("data")], [volume("more")])).toEqual([volume("data"), volume("more")]);
  });

  it("take the place of the template's under Overrides, new ones at the end", () => {
    const merged = merge("Overrides", [volume("a"), volume("b")], [volume("new"), volume("a", "9Gi")]);
    expect(merged).toEqual([volume("a", "9Gi"), volume("b"), volume("new")]);
  });

  it.each([
    { case: "the claim has one without a name", template: [], claim: [volume("")] },
    { case: "the claim has two of one name", template: [], claim: [volume("a"), volume("a")] },
    { case: "the template has one without a name", template: [volume("")], claim: [] },
    { case: "the template has two of one name", template: [volume("a"), volume("a")], claim: [] },
  ])("are rejected when $case", ({ template, claim }) => {
    expect(merge("Overrides", template, claim)).toBe("VolumeClaimTemplatesError");
  });

  it("that are empty keep the template's, under every policy", () => {
    expect(merge("Disallowed", [volume("data")], [])).toEqual([volume("data")]);
  });
});
