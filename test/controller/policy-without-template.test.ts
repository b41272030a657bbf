import { describe, expect, it, vi } from "vitest";
import { eventType, podType } from "../../api/kinds/core.ts";
import { type NetworkPolicy, networkPolicyType } from "../../api/kinds/network-policy.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { type SandboxTemplateSpec, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import type { Intercept } from "../support/fakes/intercepted-client.ts";
import { type ClaimLab, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";
const named = { namespace, name: "template-network-policy" };

const readPolicy = (lab: ClaimLab) => lab.get(networkPolicyType, named.name);

const untilPolicy = (lab: ClaimLab, check: (policy: NetworkPolicy | undefined) => void) =>
  vi.waitFor(async () => check(await readPolicy(lab)), waiting);

const ownerKinds = (policy: NetworkPolicy | undefined) =>
  (policy?.metadata.ownerReferences ?? []).map(({ kind }) => kind).sort();

const eventReasons = async (lab: ClaimLab) =>
  (await lab.client.list(eventType, { namespace })).items.map(({ reason }) => reason);

/** Claims a new sandbox, and waits until it is ready and owns the policy. */
async function claim(lab: ClaimLab, name: string): Promise<void> {
  await lab.claim(name);
  await lab.untilReady(name);
  await untilPolicy(lab, (policy) => {
    const holders = policy?.metadata.ownerReferences ?? [];
    expect(holders.map((owner) => owner.name)).toContain(name);
  });
}

/** A claim `mine` with its own sandbox, and the controller that created it. */
async function openLab(spec: Partial<SandboxTemplateSpec> = {}) {
  const lab = await openClaimLab();
  const controller = await lab.startController();
  await lab.template(spec);
  await lab.pool(0);
  await claim(lab, "mine");
  return { lab, controller, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

/** Deletes the template, and waits until the policy has recorded this. */
async function deleteTemplate(lab: ClaimLab): Promise<void> {
  await lab.client.delete(sandboxTemplateType, { namespace, name: "template" });
  await untilPolicy(lab, (policy) => {
    expect(policy?.metadata.annotations).toMatchObject({ "rouse.agents.x-k8s.io/template-gone": "true" });
    expect(ownerKinds(policy)).toEqual(["Pod", "Sandbox"]);
  });
}

const setMode = (lab: ClaimLab, operatingMode: "Running" | "Suspended") =>
  lab.client.patch(sandboxType, { namespace, name: "mine" }, { type: "merge", body: { spec: { operatingMode } } });

describe("the NetworkPolicy of a deleted template", () => {
  it("is the same object as before, and the garbage collector deletes it with the last sandbox", async () => {
    await using opened = await openLab();
    const { lab } = opened;
    const before = await readPolicy(lab);
    expect(before?.metadata.ownerReferences).toMatchObject([
      { kind: "SandboxTemplate", name: "template", controller: true },
      { kind: "Sandbox", name: "mine" },
    ]);
    await deleteTemplate(lab);
    const after = await readPolicy(lab);
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    expect(after?.spec).toEqual(before?.spec);
    expect(after?.metadata.finalizers).toBeUndefined();
    await vi.waitFor(async () => expect(await eventReasons(lab)).toContain("NetworkPolicyKept"), waiting);
    await lab.client.delete(sandboxClaimType, { namespace, name: "mine" });
    await untilPolicy(lab, (policy) => expect(policy).toBeUndefined());
    expect(await eventReasons(lab)).not.toContain("NetworkPolicyRestored");
  });

  it("stays without a controller, and the next controller keeps it", async () => {
    await using opened = await openLab();
    const { lab, controller } = opened;
    const before = await readPolicy(lab);
    await controller[Symbol.asyncDispose]();
    await lab.client.delete(sandboxTemplateType, { namespace, name: "template" });
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Sandbox"]));
    await lab.startController();
    await untilPolicy(lab, (policy) => {
      expect(policy?.metadata.uid).toBe(before?.metadata.uid);
      expect(ownerKinds(policy)).toEqual(["Pod", "Sandbox"]);
    });
  });

  it("is created again with the same rules if another client deletes it, with an event", async () => {
    await using opened = await openLab({ networkPolicy: { egress: [{ ports: [{ port: 53, protocol: "UDP" }] }] } });
    const { lab } = opened;
    const before = await readPolicy(lab);
    await deleteTemplate(lab);
    await lab.client.delete(networkPolicyType, named);
    await untilPolicy(lab, (policy) => {
      expect(policy?.metadata.uid).not.toBe(before?.metadata.uid);
      expect(policy?.spec).toEqual(before?.spec);
      expect(ownerKinds(policy)).toEqual(["Pod", "Sandbox"]);
    });
    await vi.waitFor(async () => expect(await eventReasons(lab)).toContain("NetworkPolicyRestored"), waiting);
  });

  it("stays while a sandbox is suspended, and its next Pod owns it again", async () => {
    await using opened = await openLab();
    const { lab } = opened;
    await deleteTemplate(lab);
    await setMode(lab, "Suspended");
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Sandbox"]));
    await setMode(lab, "Running");
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Pod", "Sandbox"]));
  });

  it("stays while a Pod ends later than its sandbox", async () => {
    await using opened = await openLab();
    const { lab } = opened;
    await deleteTemplate(lab);
    const body = { metadata: { finalizers: ["test/still-runs"] } };
    await lab.client.patch(podType, { namespace, name: "mine" }, { type: "merge", body });
    await lab.client.delete(sandboxClaimType, { namespace, name: "mine" });
    await vi.waitFor(async () => expect(await lab.get(sandboxType, "mine")).toBeUndefined(), waiting);
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Pod"]));
    const released = { metadata: { finalizers: null } };
    await lab.client.patch(podType, { namespace, name: "mine" }, { type: "merge", body: released });
    await untilPolicy(lab, (policy) => expect(policy).toBeUndefined());
  });

  it("is deleted if it has no owners and its last Pod has finished", async () => {
    await using opened = await openLab();
    const { lab, controller } = opened;
    await deleteTemplate(lab);
    await lab.patch(podType, "mine", { metadata: { finalizers: ["test/is-read"] } });
    await lab.client.delete(sandboxClaimType, { namespace, name: "mine" });
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Pod"]));
    await controller[Symbol.asyncDispose]();
    await lab.patch(podType, "mine", { status: { phase: "Succeeded" } }, "status");
    await lab.patch(networkPolicyType, named.name, { metadata: { ownerReferences: null } });
    await lab.startController();
    await untilPolicy(lab, (policy) => expect(policy).toBeUndefined());
    expect(await lab.get(podType, "mine")).toMatchObject({ status: { phase: "Succeeded" } });
  });

  it("is deleted if it has no owners and its last sandbox is being deleted", async () => {
    await using opened = await openLab();
    const { lab, controller } = opened;
    await deleteTemplate(lab);
    await setMode(lab, "Suspended");
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Sandbox"]));
    await lab.patch(sandboxType, "mine", { metadata: { finalizers: ["test/is-read"] } });
    await controller[Symbol.asyncDispose]();
    await lab.client.delete(sandboxType, { namespace, name: "mine" });
    await lab.patch(networkPolicyType, named.name, { metadata: { ownerReferences: null } });
    await lab.startController();
    await untilPolicy(lab, (policy) => expect(policy).toBeUndefined());
    expect(await lab.get(sandboxType, "mine")).toBeDefined();
  });

  it("is taken over by a new template of the same name, with the new rules", async () => {
    await using opened = await openLab();
    const { lab } = opened;
    const before = await readPolicy(lab);
    await deleteTemplate(lab);
    const next = await lab.template({ networkPolicy: { egress: [] } });
    await untilPolicy(lab, (policy) => {
      expect(policy?.metadata.uid).toBe(before?.metadata.uid);
      expect(policy?.metadata.annotations).not.toHaveProperty(["rouse.agents.x-k8s.io/template-gone"]);
      expect(policy?.metadata.ownerReferences?.[0]).toMatchObject({ uid: next.metadata.uid, controller: true });
      expect(policy?.spec).not.toHaveProperty("ingress");
    });
    await claim(lab, "second");
  });
});

describe("the Pod of a sandbox whose NetworkPolicy is missing", () => {
  it("does not start while its template's policy cannot be created, and starts once it exists", async () => {
    await using opened = await openLab();
    const { lab, controller } = opened;
    await setMode(lab, "Suspended");
    await vi.waitFor(async () => expect(await lab.get(podType, "mine")).toBeUndefined(), waiting);
    // A policy of another owner takes the name.
    await controller[Symbol.asyncDispose]();
    await lab.client.delete(networkPolicyType, named);
    await lab.client.create(networkPolicyType, { metadata: named, spec: { podSelector: {} } });
    await lab.startController();
    await setMode(lab, "Running");
    await vi.waitFor(async () => {
      const { status } = await lab.client.get(sandboxType, { namespace, name: "mine" });
      const message = expect.stringContaining("no network policy");
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False", message }));
    }, waiting);
    expect(await lab.get(podType, "mine")).toBeUndefined();
    await lab.client.delete(networkPolicyType, named);
    await vi.waitFor(async () => expect(await lab.get(podType, "mine")).toBeDefined(), waiting);
  });

  it("does not start while the policy of its deleted template is missing", async () => {
    await using opened = await openLab();
    const { lab, controller } = opened;
    await deleteTemplate(lab);
    await setMode(lab, "Suspended");
    await untilPolicy(lab, (policy) => expect(ownerKinds(policy)).toEqual(["Sandbox"]));
    await controller[Symbol.asyncDispose]();
    let refused = 0;
    const intercept: Intercept = (call, proceed) => {
      if (call.verb !== "create" || call.kind !== "NetworkPolicy") return proceed();
      refused += 1;
      throw new Error("not allowed");
    };
    await lab.startController({ intercept });
    await lab.client.delete(networkPolicyType, named);
    // The watches of policies and sandboxes have no common order, so the controller must see the deletion first.
    await vi.waitFor(() => expect(refused).toBeGreaterThan(0), waiting);
    await setMode(lab, "Running");
    await vi.waitFor(async () => {
      const { status } = await lab.client.get(sandboxType, { namespace, name: "mine" });
      const message = expect.stringContaining("is gone, and its NetworkPolicy");
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False", message }));
    }, waiting);
    expect(await lab.get(podType, "mine")).toBeUndefined();
  });
});
