import { describe, expect, it, vi } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { networkPolicyType } from "../../api/kinds/network-policy.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import type { Intercept } from "../support/fakes/intercepted-client.ts";
import { type ClaimLab, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";
const inThePast = "2026-01-01T00:00:00Z";

/** Puts another object in the place of one at the very moment in which the controller deletes it, once. */
function replacing(client: () => ClaimLab["client"], type: ResourceType<KubeObject>) {
  const outcome = Promise.withResolvers<"survived" | "deleted">();
  let done = false;
  const intercept: Intercept = async (call, proceed) => {
    if (done || call.verb !== "delete" || call.kind !== type.kind) return proceed();
    done = true;
    const where = { namespace, name: call.name };
    const { metadata, ...rest } = await client().get(type, where);
    await client().delete(type, where, { gracePeriodSeconds: 0 });
    const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
    const again = { ...rest, metadata: { ...where, labels, annotations, ownerReferences } };
    const { uid } = (await client().create(type, again)).metadata;
    try {
      return await proceed();
    } finally {
      const now = await client()
        .get(type, where)
        .catch(() => undefined);
      const survived = now?.metadata.uid === uid && now.metadata.deletionTimestamp === undefined;
      outcome.resolve(survived ? "survived" : "deleted");
    }
  };
  return { intercept, outcome: outcome.promise };
}

async function afterReplacing(type: ResourceType<KubeObject>, act: (lab: ClaimLab) => Promise<unknown>) {
  await using lab = await openClaimLab();
  const { intercept, outcome } = replacing(() => lab.client, type);
  await using _controller = await lab.startController({ intercept });
  await lab.template();
  await act(lab);
  return await outcome;
}

async function aSandbox({ client, get }: ClaimLab, spec: Partial<SandboxSpec> = {}): Promise<void> {
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  await client.create(sandboxType, { metadata: { namespace, name: "nova" }, spec: { podTemplate, ...spec } });
  await vi.waitFor(async () => expect(await get(podType, "nova")).toBeDefined(), waiting);
}

describe("what the controller deletes is what it saw, not another object of the same name:", () => {
  it("the Pod of a sandbox that is suspended", async () => {
    const act = async (lab: ClaimLab) => {
      await aSandbox(lab);
      await lab.patch(sandboxType, "nova", { spec: { operatingMode: "Suspended" } });
    };
    expect(await afterReplacing(podType, act)).toBe("survived");
  });

  it.each([
    { what: "Pod", type: podType },
    { what: "Service", type: serviceType },
  ])("the $what of a sandbox that has expired", async ({ type }) => {
    const act = async (lab: ClaimLab) => {
      await aSandbox(lab, { service: true });
      await lab.patch(sandboxType, "nova", { spec: { shutdownTime: inThePast, shutdownPolicy: "Retain" } });
    };
    expect(await afterReplacing(type, act)).toBe("survived");
  });

  it("a sandbox that has expired", async () => {
    const act = async (lab: ClaimLab) => {
      await aSandbox(lab);
      await lab.patch(sandboxType, "nova", { spec: { shutdownTime: inThePast, shutdownPolicy: "Delete" } });
    };
    expect(await afterReplacing(sandboxType, act)).toBe("survived");
  });

  it.each([
    { what: "a claim that has expired", type: sandboxClaimType, shutdownPolicy: "Delete" as const },
    { what: "the sandbox of a claim that has expired", type: sandboxType, shutdownPolicy: "Retain" as const },
  ])("$what", async ({ type, shutdownPolicy }) => {
    const act = async (lab: ClaimLab) => {
      await lab.pool(0);
      await lab.claim("task");
      await lab.untilReady("task");
      await lab.patch(sandboxClaimType, "task", { spec: { lifecycle: { shutdownTime: inThePast, shutdownPolicy } } });
    };
    expect(await afterReplacing(type, act)).toBe("survived");
  });

  it("a spare of a pool that has become smaller", async () => {
    const act = async (lab: ClaimLab) => {
      await lab.pool(1);
      await vi.waitFor(async () => {
        const { status } = await lab.client.get(sandboxWarmPoolType, { namespace, name: "pool" });
        expect(status?.readyReplicas).toBe(1);
      }, waiting);
      await lab.patch(sandboxWarmPoolType, "pool", { spec: { replicas: 0 } });
    };
    expect(await afterReplacing(sandboxType, act)).toBe("survived");
  });

  it("the network policy of a template that manages none any more", async () => {
    const act = async (lab: ClaimLab) => {
      const policy = () => lab.get(networkPolicyType, "template-network-policy");
      await vi.waitFor(async () => expect(await policy()).toBeDefined(), waiting);
      await lab.patch(sandboxTemplateType, "template", { spec: { networkPolicyManagement: "Unmanaged" } });
    };
    expect(await afterReplacing(networkPolicyType, act)).toBe("survived");
  });
});
