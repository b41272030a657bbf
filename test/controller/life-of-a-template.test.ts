import { describe, expect, it, vi } from "vitest";
import { type NetworkPolicy, networkPolicyType } from "../../api/kinds/network-policy.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { type ExtensionsLab, openExtensionsLab } from "../support/labs/extensions-lab.ts";
import { waiting } from "../support/waiting.ts";

const named = { namespace: "default", name: "tpl" };
const policyName = "tpl-network-policy";
const findPolicy = (lab: ExtensionsLab) => lab.find(networkPolicyType, policyName);

/** Waits until the policy exists and matches. */
const untilPolicy = (lab: ExtensionsLab, like: object = {}) =>
  vi.waitFor(async () => {
    const policy = await findPolicy(lab);
    expect(policy).toBeDefined();
    expect(policy).toMatchObject(like);
    return policy;
  }, waiting);

describe("a SandboxTemplate from its creation", () => {
  it("has its label and its policy, which changes and is deleted with it", async () => {
    await using lab = await openExtensionsLab();
    await lab.createTemplate();
    const policy = await untilPolicy(lab, {
      metadata: { ownerReferences: [{ kind: "SandboxTemplate", name: "tpl" }] },
    });
    expect((await lab.find(sandboxTemplateType, "tpl"))?.metadata.labels).toEqual({
      [templateRefHashLabel]: nameHash("tpl"),
    });

    await lab.untilQuiet();
    lab.client.calls.length = 0;
    const body = { metadata: { annotations: { reconcile: "again" } } };
    await lab.client.patch(sandboxTemplateType, named, { type: "merge", body });
    expect(await lab.untilQuiet(), "the one call is the test's own").toBe(1);

    const ingress = [{ from: [{ podSelector: { matchLabels: { app: "desk" } } }], ports: [{ port: 80 }] }];
    await lab.changeTemplate({ networkPolicy: { ingress } });
    const ports = [{ port: 80, protocol: "TCP" }];
    const changed = await untilPolicy(lab, { spec: { ingress: [{ ports }] } });
    expect(changed?.spec).not.toHaveProperty("egress");
    expect(changed?.metadata.uid).toBe(policy?.metadata.uid);
    lab.client.calls.length = 0;
    await lab.client.patch(sandboxTemplateType, named, { type: "merge", body: { metadata: { annotations: null } } });
    expect(await lab.untilQuiet(), "the one call is the test's own").toBe(1);

    await lab.client.delete(sandboxTemplateType, named);
    await vi.waitFor(async () => expect(await findPolicy(lab)).toBeUndefined(), waiting);
  });

  it("has no policy while it is Unmanaged", async () => {
    await using lab = await openExtensionsLab();
    await lab.createTemplate();
    await untilPolicy(lab);
    await lab.changeTemplate({ networkPolicyManagement: "Unmanaged" });
    await vi.waitFor(async () => expect(await findPolicy(lab)).toBeUndefined(), waiting);
    await lab.changeTemplate({ networkPolicyManagement: "Managed" });
    await untilPolicy(lab);
  });

  it("gets its policy back when another client deletes or changes it", async () => {
    await using lab = await openExtensionsLab();
    await lab.createTemplate();
    const first = await untilPolicy(lab);
    const name = { namespace: "default", name: policyName };
    await lab.client.patch(networkPolicyType, name, { type: "merge", body: { spec: { egress: null } } });
    await untilPolicy(lab, { spec: first?.spec });
    await lab.client.delete(networkPolicyType, name);
    const second = await untilPolicy(lab, { spec: first?.spec });
    expect(second?.metadata.uid).not.toBe(first?.metadata.uid);
  });

  it("never takes over an existing policy of that name", async () => {
    await using lab = await openExtensionsLab();
    const spec = { podSelector: {}, policyTypes: ["Ingress"] } as const;
    const own: NetworkPolicy = { metadata: { namespace: "default", name: policyName }, spec };
    const before = await lab.client.create(networkPolicyType, own);
    await lab.createTemplate();
    await vi.waitFor(async () => {
      const failures = /controller_runtime_reconcile_errors_total\{controller="sandboxtemplate"\} [1-9]/;
      expect(await lab.metrics()).toMatch(failures);
    }, waiting);
    expect(await findPolicy(lab)).toEqual(before);
  });
});

describe("a template whose policy is missing", () => {
  const spec = { podSelector: {}, policyTypes: ["Ingress"] } as const;
  const foreign: NetworkPolicy = { metadata: { namespace: "default", name: policyName }, spec };
  const sandboxes = async (lab: ExtensionsLab) => (await lab.client.list(sandboxType, { namespace: "default" })).items;
  const claim = (lab: ExtensionsLab, name: string) =>
    lab.client.create(sandboxClaimType, {
      metadata: { namespace: "default", name },
      spec: { warmPoolRef: { name: "warm" } },
    });

  it("gets no sandbox from a pool or a claim, which report the reason, until the policy exists", async () => {
    await using lab = await openExtensionsLab();
    await lab.client.create(networkPolicyType, foreign);
    await lab.createTemplate();
    await lab.createPool({ replicas: 1 });
    await claim(lab, "task");
    await vi.waitFor(async () => expect(await lab.poolEvents()).toContain("WarmPoolNotProgressing"), waiting);
    await vi.waitFor(async () => {
      const { status } = await lab.client.get(sandboxClaimType, { namespace: "default", name: "task" });
      expect(status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "False" });
      expect(status?.conditions?.[0]?.message).toContain("refusing to update");
    }, waiting);
    expect(await sandboxes(lab)).toEqual([]);
    await lab.client.delete(networkPolicyType, { namespace: "default", name: policyName });
    await vi.waitFor(async () => expect(await sandboxes(lab)).toHaveLength(2), waiting);
    const controller = expect.objectContaining({ kind: "SandboxTemplate", name: "tpl", controller: true });
    await untilPolicy(lab, { metadata: { ownerReferences: expect.arrayContaining([controller]) } });
  });

  it("gets sandboxes without a policy if it is Unmanaged", async () => {
    await using lab = await openExtensionsLab();
    await lab.client.create(networkPolicyType, foreign);
    await lab.createTemplate({ networkPolicyManagement: "Unmanaged" });
    await lab.createPool({ replicas: 1 });
    await vi.waitFor(async () => expect(await sandboxes(lab)).toHaveLength(1), waiting);
  });
});
