import { expect, it, vi } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { controlledBy, noon } from "../../test/support/builders/builders.ts";
import { aTemplate } from "../../test/support/builders/extension-builders.ts";
import { networkPolicySpec } from "./make-network-policy.ts";
import { policyGap } from "./policy-in-place.ts";

/** A template, and how often its rules were read. */
function watched(): { readonly template: Stored<SandboxTemplate>; readonly reads: () => number } {
  const plain = aTemplate();
  const read = vi.fn(() => plain.spec.networkPolicy);
  const spec = Object.defineProperty({ ...plain.spec }, "networkPolicy", { enumerable: true, get: read });
  return { template: { ...plain, spec }, reads: () => read.mock.calls.length };
}

const aPolicy = (spec = networkPolicySpec(aTemplate())): Stored<NetworkPolicy> => ({
  metadata: {
    ...{ namespace: "lab", name: "tpl-network-policy", uid: "p", resourceVersion: "1", creationTimestamp: noon },
    ownerReferences: [controlledBy(aTemplate())],
  },
  spec,
});

it("compares a template and a policy once, and again when one of them is another object", () => {
  const { template, reads } = watched();
  const policy = aPolicy();
  const before = reads();
  for (let count = 1; count <= 100; count += 1) expect(policyGap(template, { get: () => policy })).toBeUndefined();
  expect(reads() - before).toBe(1);
  expect(policyGap(template, { get: () => aPolicy({ podSelector: {} }) })).toContain("is not written yet");
  expect(policyGap(template, { get: () => policy })).toBeUndefined();
  expect(policyGap(aTemplate({ networkPolicy: { egress: [] } }), { get: () => policy })).toContain("not written yet");
});
