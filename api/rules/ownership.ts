import { controllerOf, type KubeObject, type OwnerReference, type Stored } from "../kinds/meta.ts";
import { groupOf, type ResourceType } from "../kinds/resource-type.ts";

/** The relation of an object to a possible owner: owned by it, unowned, or owned by another. */
export type Ownership = "owned" | "unowned" | "foreign";

/**
 * The relation of `child` to an owner. Only the reference with `controller: true` counts: other owner references are
 * instructions for the garbage collector, and any creator of the object may write them. An owner is in the same
 * namespace (Kubernetes, "Owners and Dependents": references across namespaces are not allowed).
 */
export function ownershipOf(child: KubeObject, owner: Stored<KubeObject>): Ownership {
  const controller = controllerOf(child);
  if (!controller) return "unowned";
  const isItsOwn = controller.uid === owner.metadata.uid && child.metadata.namespace === owner.metadata.namespace;
  return isItsOwn ? "owned" : "foreign";
}

/**
 * The reference to the managing controller, if it is of this kind; other versions of its group refer to the same owner.
 */
export function controllerOfKind(child: KubeObject, type: ResourceType): OwnerReference | undefined {
  const owner = controllerOf(child);
  return owner?.kind === type.kind && groupOf(owner.apiVersion) === type.group ? owner : undefined;
}
