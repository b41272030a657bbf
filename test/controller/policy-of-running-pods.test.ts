import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { type ExtensionsLab, openExtensionsLab } from "../support/labs/extensions-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";

/** Claims the only member of a pool of `tpl`, and returns the name of its Pod. */
async function claimed(lab: ExtensionsLab): Promise<string> {
  await lab.createTemplate();
  await lab.createPool({ replicas: 1 });
  await lab.untilPool({ readyReplicas: 1 });
  const spec = { warmPoolRef: { name: "warm" } };
  await lab.client.create(sandboxClaimType, { metadata: { namespace, name: "mine" }, spec });
  return await vi.waitFor(async () => {
    const { status } = await lab.client.get(sandboxClaimType, { namespace, name: "mine" });
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
    return status?.sandbox?.name ?? "";
  }, waiting);
}

/** The names of the NetworkPolicies that select the Pod. */
async function policiesOf(lab: ExtensionsLab, pod: string): Promise<readonly (string | undefined)[]> {
  const { labels = {} } = (await lab.client.get(podType, { namespace, name: pod })).metadata;
  const { items } = await lab.client.list(networkPolicyType, { namespace });
  return items
    .filter(({ spec }) => Object.entries(spec?.podSelector?.matchLabels ?? {}).every(([k, v]) => labels[k] === v))
    .map(({ metadata }) => metadata.name);
}

const ownersOf = async (lab: ExtensionsLab, name: string) =>
  (await lab.client.get(sandboxType, { namespace, name })).metadata.ownerReferences ?? [];

/** Changes the claim so that the controller reconciles it, and waits until it has. */
async function touch(lab: ExtensionsLab): Promise<void> {
  const body = { metadata: { annotations: { note: "reconcile again" } } };
  await lab.client.patch(sandboxClaimType, { namespace, name: "mine" }, { type: "merge", body });
  await lab.untilQuiet();
}

describe("the NetworkPolicy of the running Pod of a bound claim", () => {
  it("stays the one of its own template if the pool gets another template", async () => {
    await using lab = await openExtensionsLab();
    await lab.createTemplate({ networkPolicyManagement: "Unmanaged" }, "open");
    const pod = await claimed(lab);
    expect(await policiesOf(lab, pod)).toEqual(["tpl-network-policy"]);
    await lab.changePool({ sandboxTemplateRef: { name: "open" } });
    await lab.untilQuiet();
    await touch(lab);
    expect(await policiesOf(lab, pod)).toEqual(["tpl-network-policy"]);
  });

  it("stays if the claim, or the pool of a member, is deleted without its sandbox", async () => {
    await using lab = await openExtensionsLab();
    const pod = await claimed(lab);
    const orphan = { propagationPolicy: "Orphan" } as const;
    const spare = await vi.waitFor(
      async () => (await lab.members())[0]?.metadata.name ?? expect.fail("no spare"),
      waiting,
    );
    await lab.client.delete(sandboxClaimType, { namespace, name: "mine" }, orphan);
    await lab.client.delete(sandboxWarmPoolType, { namespace, name: "warm" }, orphan);
    for (const name of [pod, spare]) {
      await vi.waitFor(async () => expect(await ownersOf(lab, name)).toEqual([]), waiting);
      await lab.untilQuiet();
      expect(await policiesOf(lab, name)).toEqual(["tpl-network-policy"]);
    }
  });

  it("also selects the next Pod of a sandbox without its claim, even without its template", async () => {
    await using lab = await openExtensionsLab();
    const name = await claimed(lab);
    await lab.client.delete(sandboxClaimType, { namespace, name: "mine" }, { propagationPolicy: "Orphan" });
    await vi.waitFor(async () => expect(await ownersOf(lab, name)).toEqual([]), waiting);
    await lab.client.delete(sandboxTemplateType, { namespace, name: "tpl" });
    const setMode = (operatingMode: string) =>
      lab.client.patch(sandboxType, { namespace, name }, { type: "merge", body: { spec: { operatingMode } } });
    const uid = async () => (await lab.client.get(podType, { namespace, name })).metadata.uid;
    const former = await uid();
    await setMode("Suspended");
    await vi.waitFor(() => expect(uid()).rejects.toThrow("not found"), waiting);
    await setMode("Running");
    await vi.waitFor(async () => expect(await uid()).not.toBe(former), waiting);
    expect(await policiesOf(lab, name)).toEqual(["tpl-network-policy"]);
  });
});
