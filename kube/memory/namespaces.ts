import { namespaceType } from "../../api/core.ts";
import type { KubeObject } from "../../api/meta.ts";
import { newUid, wireTime } from "./object-identity.ts";
import type { ServedKind } from "./served-kind.ts";
import { forbidden, notFound, resourceName, type StatusError } from "./status-errors.ts";
import type { Storage } from "./storage.ts";

const collection = resourceName(namespaceType);

/** Those that a cluster with this product installed has from its beginning. */
const firstNamespaces = ["default", "kube-system", "agent-sandbox-system"];
const undeletable: ReadonlySet<string> = new Set(["default", "kube-system"]);

/** Makes the namespaces that are always there, those that are not. */
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

/** Why nothing may be created in a namespace: it is not there, or on its way out. */
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

/** Why an object may not be deleted: it is one of the namespaces that a cluster cannot be without. */
export function refusalToDelete(kind: ServedKind, name: string): StatusError | undefined {
  return resourceName(kind.type) === collection && undeletable.has(name)
    ? forbidden(kind.type, name, "this namespace may not be deleted")
    : undefined;
}

/** A namespace that takes nothing new and empties. */
export function asTerminating(namespace: KubeObject): KubeObject {
  const { status } = namespace as { readonly status?: object };
  const { deletionGracePeriodSeconds: _none, ...metadata } = namespace.metadata;
  return { ...namespace, metadata, status: { ...status, phase: "Terminating" } } as KubeObject;
}
