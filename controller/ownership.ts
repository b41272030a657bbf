import { controllerOf, type KubeObject, type OwnerReference, type Stored } from "../api/meta.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-type.ts";

/** Whose an object is, seen from one possible owner: its own, nobody's, or somebody else's. */
export type Ownership = "owned" | "unowned" | "foreign";

export function ownershipOf(child: KubeObject, owner: Stored<KubeObject>): Ownership {
  const controller = controllerOf(child);
  if (!controller) return "unowned";
  return controller.uid === owner.metadata.uid ? "owned" : "foreign";
}

export function controllerReference(type: ResourceType, owner: Stored<KubeObject>): OwnerReference {
  const { name, uid } = owner.metadata;
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The owner references of a child nobody controls, once `reference` does; other references stay. */
export function withController(child: KubeObject, reference: OwnerReference): readonly OwnerReference[] {
  const others = (child.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== reference.uid);
  return [...others, reference];
}

/** How an error names whoever owns an object that is not ours. */
export function describeOwner(child: KubeObject): string {
  const controller = controllerOf(child);
  return controller ? `${controller.kind} ${controller.name} (uid ${controller.uid})` : "nobody";
}
