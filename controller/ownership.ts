import { controllerOf, type KubeObject, type ObjectMeta, type OwnerReference, type Stored } from "../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType } from "../api/kinds/resource-type.ts";
import { adoptableLabel, sandboxNameHashLabel } from "../api/rules/keys.ts";

export { type Ownership, ownershipOf } from "../api/rules/ownership.ts";

export function controllerReference(type: ResourceType, owner: Stored<KubeObject>): OwnerReference {
  const { name, uid } = owner.metadata;
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/**
 * The metadata of a child without a controller, once `reference` does; other references stay. A merge patch replaces the
 * whole list, so the version that was seen is part of it: a child that another controller took meanwhile is a conflict.
 */
export function takenOverBy(
  reference: OwnerReference,
  { metadata }: Stored<KubeObject>,
): Required<Pick<ObjectMeta, "resourceVersion" | "ownerReferences">> {
  const { resourceVersion, ownerReferences = [] } = metadata;
  return {
    resourceVersion,
    ownerReferences: [...ownerReferences.filter(({ uid }) => uid !== reference.uid), reference],
  };
}

/** All that decides whether a Sandbox may have a child; what it is and how it fares does not. Empty: there is none. */
export function standingOf(child: Stored<KubeObject> | undefined): string {
  if (!child) return "";
  const { uid, labels, deletionTimestamp } = child.metadata;
  const facts = [controllerOf(child)?.uid, deletionTimestamp, labels?.[adoptableLabel], labels?.[sandboxNameHashLabel]];
  return JSON.stringify([uid, ...facts]);
}

/** The owner of an object that is not ours, as errors name it. */
export function describeOwner(child: KubeObject): string {
  const controller = controllerOf(child);
  return controller ? `${controller.kind} ${controller.name} (uid ${controller.uid})` : "no object";
}
