import { namespaceType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ServedKind } from "../served-kind.ts";
import { forbidden, notFound, resourceName, type StatusError } from "../status-errors.ts";
import type { Storage } from "../storage/storage.ts";
import { newUid, wireTime } from "./object-identity.ts";

const collection = resourceName(namespaceType);

/** The initial namespaces of a cluster with this product. */
const firstNamespaces = ["default", "kube-system", "agent-sandbox-system"];
const undeletable: ReadonlySet<string> = new Set(["default", "kube-system"]);

/** Creates the missing initial namespaces. */
export function addFirstNamespaces(storage: Storage, now: Date): void {
  for (const name of firstNamespaces) {
    if (storage.get(collection, undefined, name)) continue;
    storage.put(collection, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name,
        uid: newUid(),
        creationTimestamp: wireTime(now),
        labels: { "kubernetes.io/metadata.name": name },
      },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    } as KubeObject);
  }
}

/** The reason why nothing may be created in a namespace: it does not exist, or is terminating. */
export function refusalToAdd(
  storage: Storage,
  kind: ServedKind,
  namespace: string | undefined,
  name: string,
): StatusError | undefined {
  if (namespace === undefined) return undefined;
  const entry = storage.get(collection, undefined, namespace);
  if (!entry) return notFound(namespaceType, namespace);
  if (!entry.object.metadata.deletionTimestamp) return undefined;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  return forbidden(kind.type, name, why, [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }]);
}

/** The reason why an object may not be deleted: it is a namespace that a cluster requires. */
export function refusalToDelete(kind: ServedKind, name: string): StatusError | undefined {
  return resourceName(kind.type) === collection && undeletable.has(name)
    ? forbidden(kind.type, name, "this namespace may not be deleted")
    : undefined;
}

/** A terminating namespace accepts no new objects and is emptied. */
export function asTerminating(namespace: KubeObject): KubeObject {
  const { status } = namespace as { readonly status?: object };
  const { deletionGracePeriodSeconds: _none, ...metadata } = namespace.metadata;
  return { ...namespace, metadata, status: { ...status, phase: "Terminating" } } as KubeObject;
}
