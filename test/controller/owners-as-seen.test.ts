import { describe, expect, it, vi } from "vitest";
import { persistentVolumeClaimType, podType, serviceType } from "../../api/kinds/core.ts";
import { controllerOf, type KubeObject, type ObjectMeta, type OwnerReference } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { adoptableLabel } from "../../api/rules/keys.ts";
import { ApiError } from "../../kube/client/errors.ts";
import type { Intercept, InterceptedCall } from "../support/fakes/intercepted-client.ts";
import { type ClaimLab, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "default";
const containers = [{ name: "main", image: "busybox" }];
const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } as const;
const other = { apiVersion: "apps/v1", kind: "StatefulSet", name: "other", uid: "uid-of-other", controller: true };

/** A volume claim that exists before the sandbox `nova`. */
const claimOfNova = ({ client }: ClaimLab, metadata: ObjectMeta) =>
  client.create(persistentVolumeClaimType, { metadata: { name: "data-nova", namespace, ...metadata }, spec: storage });

/** A Pod and a Service that exist before the sandbox `nova`, and a volume claim if it is not said otherwise. */
async function childrenOfNova(lab: ClaimLab, { withClaim = true } = {}): Promise<void> {
  const { client } = lab;
  const labels = { [adoptableLabel]: "true" };
  if (withClaim) await claimOfNova(lab, { labels });
  await client.create(podType, { metadata: { name: "nova", namespace, labels }, spec: { containers } });
  const spec = { clusterIP: "None", ports: [] };
  await client.create(serviceType, { metadata: { name: "nova", namespace, labels }, spec });
}

const nova = ({ client }: ClaimLab) =>
  client.create(sandboxType, {
    metadata: { name: "nova", namespace },
    spec: {
      podTemplate: { spec: { containers } },
      service: true,
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: storage }],
    },
  });

const children: readonly (readonly [ResourceType<KubeObject>, string])[] = [
  [persistentVolumeClaimType, "data-nova"],
  [podType, "nova"],
  [serviceType, "nova"],
];

async function readyMessage({ client }: ClaimLab): Promise<string | undefined> {
  const { status } = await client.get(sandboxType, { namespace, name: "nova" });
  return status?.conditions?.find(({ type }) => type === "Ready")?.message;
}

const ownersIn = ({ verb, body }: InterceptedCall): readonly OwnerReference[] | undefined =>
  verb === "patch" || verb === "replace" ? (body as Partial<KubeObject>).metadata?.ownerReferences : undefined;

describe("a child that another controller takes during its adoption by a sandbox", () => {
  it.each([
    { of: "Pod and Service", withClaim: false, reported: ["Pod nova", "Service nova"] },
    // A Pod is not adopted while the sandbox lacks a volume claim.
    { of: "volume claim and Service", withClaim: true, reported: ["PersistentVolumeClaim data-nova", "Service nova"] },
  ])("stays with that controller, and the sandbox reports this: $of", async ({ withClaim, reported }) => {
    await using lab = await openClaimLab();
    const taken = new Set<string>();
    const intercept: Intercept = async (call, proceed) => {
      const type = children.map(([of]) => of).find(({ kind }) => kind === call.kind);
      if (type && ownersIn(call) && !taken.has(call.kind)) {
        taken.add(call.kind);
        await lab.patch(type, call.name, { metadata: { ownerReferences: [other] } });
      }
      return proceed();
    };
    await childrenOfNova(lab, { withClaim });
    await using _controller = await lab.startController({ intercept });
    await nova(lab);
    await vi.waitFor(async () => {
      const message = await readyMessage(lab);
      for (const child of reported)
        expect(message).toContain(`${child} is controlled by StatefulSet other (uid uid-of-other)`);
    }, waiting);
    for (const [type, name] of children) {
      const controller = controllerOf((await lab.get(type, name)) as KubeObject)?.uid;
      expect(controller === other.uid).toBe(reported.includes(`${type.kind} ${name}`));
    }
    expect([...taken]).toHaveLength(2);
  });

  it("is adopted if another client has changed something else", async () => {
    await using lab = await openClaimLab();
    const changed = new Set<string>();
    const intercept: Intercept = async (call, proceed) => {
      const type = children.map(([of]) => of).find(({ kind }) => kind === call.kind);
      if (type && ownersIn(call) && !changed.has(call.kind)) {
        changed.add(call.kind);
        await lab.patch(type, call.name, { metadata: { annotations: { note: "changed" } } });
      }
      return proceed();
    };
    await childrenOfNova(lab);
    await using _controller = await lab.startController({ intercept });
    const { metadata } = await nova(lab);
    await vi.waitFor(async () => {
      for (const [type, name] of children) {
        const child = await lab.get(type, name);
        expect([child && controllerOf(child)?.uid, child?.metadata.annotations?.["note"]]).toEqual([
          metadata.uid,
          "changed",
        ]);
      }
    }, waiting);
  });
});

it("no Pod starts with a volume claim that another client creates first", async () => {
  await using lab = await openClaimLab();
  const intercept: Intercept = async (call, proceed) => {
    const isFirst = call.verb === "create" && call.kind === "PersistentVolumeClaim";
    if (isFirst && !(await lab.get(persistentVolumeClaimType, call.name))) {
      await claimOfNova(lab, { ownerReferences: [other] });
    }
    return proceed();
  };
  await using controller = await lab.startController({ intercept });
  await nova(lab);
  const why = "PersistentVolumeClaim data-nova is controlled by StatefulSet other (uid uid-of-other)";
  await vi.waitFor(async () => expect(await readyMessage(lab)).toContain(why), waiting);
  expect(controller.calls.filter(({ verb, kind }) => verb === "create" && kind === "Pod")).toEqual([]);
});

it("a child that changes during every attempt is adopted once it no longer changes", async () => {
  await using lab = await openClaimLab();
  const conflict = new ApiError(409, { apiVersion: "v1", kind: "Status", code: 409, reason: "Conflict" });
  let attempts = 0;
  const intercept: Intercept = async (call, proceed) => {
    if (call.kind !== "Pod" || !ownersIn(call)) return proceed();
    attempts += 1;
    if (attempts <= 10) throw conflict;
    return proceed();
  };
  const metadata = { name: "nova", namespace, labels: { [adoptableLabel]: "true" } };
  await lab.client.create(podType, { metadata, spec: { containers } });
  // The watch of this controller does not show the Pod, so only another reconcile of the sandbox finds it.
  await using _controller = await lab.startController({ intercept, flags: ["--cache-label-selectors"] });
  const podTemplate = { spec: { containers } };
  const { uid } = (
    await lab.client.create(sandboxType, { metadata: { name: "nova", namespace }, spec: { podTemplate } })
  ).metadata;
  await vi.waitFor(async () => {
    const pod = await lab.get(podType, "nova");
    expect(pod && controllerOf(pod)?.uid).toBe(uid);
  }, waiting);
  expect(attempts).toBe(11);
});

it("every write of owners has the version that was read", async () => {
  await using lab = await openClaimLab();
  await childrenOfNova(lab);
  await using controller = await lab.startController();
  await nova(lab);
  await lab.warm(1);
  await lab.client.delete(sandboxWarmPoolType, { namespace, name: "pool" }, { propagationPolicy: "Orphan" });
  await vi.waitFor(async () => expect(await lab.get(sandboxWarmPoolType, "pool")).toBeUndefined(), waiting);
  await lab.pool(1);
  const writes = () => controller.calls.filter((call) => ownersIn(call) !== undefined);
  const whoTakes = ({ verb, kind, body }: InterceptedCall) =>
    `${verb} ${kind}: ${[...new Set((body as KubeObject).metadata.ownerReferences?.map((owner) => owner.kind))].join(", ")}`;
  await vi.waitFor(() => expect(writes().map(whoTakes)).toContain("patch Sandbox: SandboxWarmPool"), waiting);
  await lab.claim("task");
  await lab.untilReady("task");
  await lab.client.delete(sandboxTemplateType, { namespace, name: "template" });
  const expected = [
    "patch PersistentVolumeClaim: Sandbox",
    "patch Pod: Sandbox",
    "patch Sandbox: SandboxClaim",
    "patch Sandbox: SandboxWarmPool",
    "replace NetworkPolicy: Sandbox, Pod",
    "replace NetworkPolicy: SandboxTemplate, Sandbox",
    "replace Service: Sandbox",
  ];
  await vi.waitFor(() => expect([...new Set(writes().map(whoTakes))].sort()).toEqual(expected), waiting);
  const blind = writes().filter(({ body }) => !(body as KubeObject).metadata.resourceVersion);
  expect(blind).toEqual([]);
  expect(await lab.get(sandboxClaimType, "task")).toBeDefined();
});
