import { bool, described, int32, listOf, mapOf, object, quantity, text, time } from "../../../api/crd/shapes.ts";
import { type Namespace, type Node, namespaceType, nodeType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { labelName } from "../metadata/names.ts";
import { kindSchema } from "../metadata/schema.ts";
import { anything, conditions } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn, orNone, wideColumn } from "./columns.ts";

/** The label that selects a namespace by name; the server sets it. */
const namespaceNameLabel = "kubernetes.io/metadata.name";

export const namespaceKind = builtinKind({
  type: namespaceType,
  // Like kube-apiserver, which has no such verb for namespaces: one mistaken call would delete everything.
  deletedOneByOne: true,
  shortNames: ["ns"],
  hasStatus: true,
  nameRule: labelName,
  schema: kindSchema("Namespace is a space of names.", {
    spec: object({ finalizers: listOf(text) }),
    status: object({ phase: described("Active, or Terminating once it is being deleted.", text), conditions }),
  }),
  columns: [nameColumn, column<Namespace>("Status", ({ status }) => status?.phase ?? ""), ageColumn],
  complete: (namespace) => {
    const { metadata, ...rest } = namespace as Namespace;
    const labels = { ...metadata.labels, [namespaceNameLabel]: metadata.name ?? "" };
    const phase = metadata.deletionTimestamp ? "Terminating" : "Active";
    return {
      spec: { finalizers: ["kubernetes"] },
      ...rest,
      metadata: { ...metadata, labels },
      status: { ...rest.status, phase },
    } as KubeObject;
  },
  selectableFields: (namespace) => ({ "status.phase": (namespace as Namespace).status?.phase ?? "" }),
});

interface NodeStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly nodeInfo?: Readonly<Record<string, string>>;
}

export const nodeKind = builtinKind({
  type: nodeType,
  shortNames: ["no"],
  hasStatus: true,
  schema: kindSchema("Node is a machine that runs Pods.", {
    spec: object({
      podCIDR: text,
      podCIDRs: listOf(text),
      providerID: text,
      unschedulable: bool,
      taints: listOf(object({ "key*": text, value: text, "effect*": text, timeAdded: time })),
    }),
    status: object({
      capacity: mapOf(quantity),
      allocatable: mapOf(quantity),
      phase: text,
      conditions,
      addresses: listOf(object({ "type*": text, "address*": text })),
      daemonEndpoints: object({ kubeletEndpoint: object({ "Port*": int32 }) }),
      nodeInfo: anything,
      images: listOf(anything),
      volumesInUse: listOf(text),
      volumesAttached: listOf(anything),
    }),
  }),
  columns: [
    nameColumn,
    column("Status", (node) => nodeStatus(node)),
    column("Roles", ({ metadata }) => roles(metadata.labels)),
    ageColumn,
    column("Version", (node) => statusOf(node).nodeInfo?.["kubeletVersion"] ?? ""),
    wideColumn("Internal-IP", (node) => address(node, "InternalIP")),
    wideColumn("External-IP", (node) => address(node, "ExternalIP")),
    wideColumn("OS-Image", (node) => statusOf(node).nodeInfo?.["osImage"] ?? "<unknown>"),
    wideColumn("Kernel-Version", (node) => statusOf(node).nodeInfo?.["kernelVersion"] ?? "<unknown>"),
    wideColumn("Container-Runtime", (node) => statusOf(node).nodeInfo?.["containerRuntimeVersion"] ?? "<unknown>"),
  ],
  selectableFields: (node) => ({ "spec.unschedulable": String(isUnschedulable(node)) }),
});

const statusOf = (node: KubeObject): NodeStatus => (node as Node).status ?? {};

const isUnschedulable = (node: KubeObject): boolean =>
  (node as { readonly spec?: { readonly unschedulable?: boolean } }).spec?.unschedulable === true;

function nodeStatus(node: KubeObject): string {
  const ready = statusOf(node).conditions?.find(({ type }) => type === "Ready");
  const status = ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown";
  return isUnschedulable(node) ? `${status},SchedulingDisabled` : status;
}

function roles(labels: Readonly<Record<string, string>> | undefined): string {
  const prefix = "node-role.kubernetes.io/";
  const named = Object.keys(labels ?? {}).filter((key) => key.startsWith(prefix));
  return orNone(
    named
      .map((key) => key.slice(prefix.length))
      .sort()
      .join(","),
  );
}

function address(node: KubeObject, type: string): string {
  return orNone(statusOf(node).addresses?.find((one) => one.type === type)?.address);
}
