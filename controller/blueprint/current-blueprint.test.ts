import { describe, expect, it } from "vitest";
import type { SandboxTemplateSpec } from "../../api/kinds/sandbox-template.ts";
import { aTemplate, templatePodSpec } from "../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "./current-blueprint.ts";

const hashOf = (spec: Partial<SandboxTemplateSpec>) => currentBlueprint(aTemplate(spec)).blueprintHash;
const plain = hashOf({});
const claims = (storage: string, labels = {}) => ({
  volumeClaimTemplates: [{ metadata: { name: "data", labels }, spec: { resources: { requests: { storage } } } }],
});

it("makes a blueprint once for each version of a template", () => {
  const template = aTemplate();
  expect(currentBlueprint(template)).toBe(currentBlueprint(template));
  expect(currentBlueprint(aTemplate())).not.toBe(currentBlueprint(template));
});

describe("the hash of a blueprint", () => {
  it("is eight hexadecimal digits, and the same for the same template in whatever order it is written", () => {
    expect(plain).toMatch(/^[0-9a-f]{8}$/);
    const container = { image: "busybox:1.36", name: "main" };
    expect(hashOf({ podTemplate: { spec: { containers: [container] } } })).toBe(plain);
  });

  it.each([
    ["the Pod", { podTemplate: { spec: { ...templatePodSpec, hostname: "other" } } }],
    ["the volumes", claims("1Gi")],
    ["service: true", { service: true }],
    ["service: false", { service: false }],
    ["how the Pod resolves names", { networkPolicyManagement: "Unmanaged" }],
  ] as const)("changes with %s", (_, spec) => {
    expect(hashOf(spec)).not.toBe(plain);
  });

  it("distinguishes sizes and orders of volumes, but not their labels", () => {
    expect(hashOf(claims("2Gi"))).not.toBe(hashOf(claims("1Gi")));
    expect(hashOf(claims("1Gi", { tier: "fast" }))).toBe(hashOf(claims("1Gi")));
  });

  it("does not depend on fields that reach a sandbox without a new Pod", () => {
    const metadata = { labels: { team: "a" }, annotations: { note: "b" } };
    expect(hashOf({ podTemplate: { spec: templatePodSpec, metadata } })).toBe(plain);
    expect(hashOf({ autoSuspension: { inactivityTimeoutSeconds: 60 }, autoResume: {} })).toBe(plain);
    expect(hashOf({ suspensionStrategy: { type: "Hibernate" } })).toBe(plain);
    expect(hashOf({ envVarsInjectionPolicy: "Allowed", volumeClaimTemplatesPolicy: "Allowed" })).toBe(plain);
  });
});

it("the older hash is of the Pod template as it is written", () => {
  const older = (spec: Partial<SandboxTemplateSpec>) => currentBlueprint(aTemplate(spec)).podTemplateHash;
  const metadata = { labels: { team: "a" } };
  expect(older({ podTemplate: { spec: templatePodSpec, metadata } })).not.toBe(older({}));
  expect(older({ service: true })).toBe(older({}));
});
