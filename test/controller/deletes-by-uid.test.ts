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

/** Replaces an object by another one of the same name once, just before the controller deletes it. */
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

describe("the controller deletes the object that it has read, not another one of the same name:", () => {
  it("the Pod of a suspended sandbox", async () => {
    const act = async (lab: ClaimLab) => {
      await aSandbox(lab);
      await lab.patch(sandboxType, "nova", { spec: { operatingMode: "Suspended" } });
    };
    expect(await afterReplacing(podType, act)).toBe("survived");
  });

  it.each([
    { what: "Pod", type: podType },
    { what: "Service", type: serviceType },
  ])("the $what of an expired sandbox", async ({ type }) => {
    const act = async (lab: ClaimLab) => {
      await aSandbox(lab, { service: true });
      await lab.patch(sandboxType, "nova", { spec: { shutdownTime: inThePast, shutdownPolicy: "Retain" } });
    };
    expect(await afterReplacing(type, act)).toBe("survived");
  });

  it("an expired sandbox", async () => {
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

  it("a member of a pool that was scaled down", async () => {
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

  it("the NetworkPolicy of a template that no longer manages one", async () => {
    const act = async (lab: ClaimLab) => {
      const policy = () => lab.get(networkPolicyType, "template-network-policy");
      await vi.waitFor(async () => expect(await policy()).toBeDefined(), waiting);
      await lab.patch(sandboxTemplateType, "template", { spec: { networkPolicyManagement: "Unmanaged" } });
    };
    expect(await afterReplacing(networkPolicyType, act)).toBe("survived");
  });
});
