// Objects as an API server returns them, with defaults for all fields that do not matter to a test.
import type { PersistentVolumeClaim, Service } from "../../../api/kinds/core.ts";
import type { KubeObject, ObjectMeta, OwnerReference, Stored } from "../../../api/kinds/meta.ts";
import type { Pod, PodSpec, PodStatus } from "../../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { sandboxNameHashLabel } from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";

export const noon = "2026-01-01T12:00:00Z";

const podSpec: PodSpec = { containers: [{ name: "main", image: "busybox:1.36" }] };

/** A Sandbox named `nova` in namespace `lab`. */
export function aSandbox(
  spec: Partial<SandboxSpec> = {},
  metadata: Partial<ObjectMeta> = {},
  status?: Sandbox["status"],
): Stored<Sandbox> {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: stored("nova", { generation: 1, ...metadata }),
    spec: { podTemplate: { spec: podSpec }, ...spec },
    ...(status && { status }),
  };
}

/** The Pod of a sandbox: named, labelled and owned as the controller makes it. Without a status it is Pending. */
export function aPodOf(
  sandbox: Stored<Sandbox>,
  metadata: Partial<ObjectMeta> = {},
  status: PodStatus = { phase: "Pending" },
): Stored<Pod> {
  return { apiVersion: "v1", kind: "Pod", metadata: childOf(sandbox, metadata), spec: podSpec, status };
}

/** The Service of a sandbox, as the controller makes it for one without container ports. */
export function aServiceOf(
  sandbox: Stored<Sandbox>,
  metadata: Partial<ObjectMeta> = {},
  spec: Service["spec"] = {},
): Stored<Service> {
  const selector = trackingLabelsOf(sandbox);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: childOf(sandbox, metadata),
    spec: { clusterIP: "None", selector, ...spec },
  };
}

export function aClaimOf(sandbox: Stored<Sandbox>, metadata: Partial<ObjectMeta> = {}): Stored<PersistentVolumeClaim> {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: childOf(sandbox, { name: `data-${sandbox.metadata.name}`, ...metadata }),
  };
}

export const trackingLabelsOf = ({ metadata }: Stored<KubeObject>): Readonly<Record<string, string>> => ({
  [sandboxNameHashLabel]: nameHash(metadata.name),
});

/** The owner reference of the controller `owner`. */
export const controlledBy = ({ apiVersion = "", kind = "", metadata }: Stored<KubeObject>): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** For `ownerReferences` of objects that another controller owns. */
export const someoneElse: OwnerReference = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  name: "other",
  uid: "uid-of-other",
  controller: true,
};

const ready = { type: "Ready", status: "True" } as const;

/** The status of a Pod that serves requests. */
export const readyStatus: PodStatus = {
  phase: "Running",
  conditions: [{ type: "PodScheduled", status: "True" }, ready],
  podIP: "10.1.0.5",
  podIPs: [{ ip: "10.1.0.5" }],
};

function childOf(sandbox: Stored<Sandbox>, metadata: Partial<ObjectMeta>): Stored<KubeObject>["metadata"] {
  const { name, namespace = "" } = sandbox.metadata;
  const ownerReferences = [controlledBy(sandbox)];
  return stored(name, { namespace, labels: trackingLabelsOf(sandbox), ownerReferences, ...metadata });
}

/** The metadata of a stored object of this name, with overrides. */
export function stored(name: string, metadata: Partial<ObjectMeta>): Stored<KubeObject>["metadata"] {
  const named = metadata.name ?? name;
  return {
    namespace: "lab",
    uid: `uid-of-${named}`,
    resourceVersion: "1",
    creationTimestamp: noon,
    ...metadata,
    name: named,
  };
}
