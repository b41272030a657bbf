import type { KubeObject, OwnerReference } from "../../api/kinds/meta.ts";
import { foregroundFinalizer, orphanFinalizer, type PropagationPolicy } from "./object-deletion.ts";

/** The state of an owner: present, absent, in foreground deletion, or one that the object cannot have. */
export type OwnerState = "present" | "absent" | "waiting" | "impossible";

export interface Surroundings {
  readonly object: KubeObject;
  readonly ownerState: (owner: OwnerReference) => OwnerState;
  readonly dependents: readonly KubeObject[];
  /** Whether dependents that are in foreground deletion wait for the object, or would once it is deleted. */
  readonly isInCycle: () => boolean;
}

/** The garbage collector's action for one object. */
export type GarbageAction =
  | { readonly do: "nothing" }
  /** It waits for its dependents: requeue those that are not being deleted. */
  | { readonly do: "askDependents" }
  /** It waits for itself: its owners must not wait for it any more. */
  | { readonly do: "unblockOwners" }
  | { readonly do: "orphanDependents" }
  | { readonly do: "removeFinalizer"; readonly finalizer: string }
  | { readonly do: "dropOwners"; readonly uids: readonly string[] }
  | { readonly do: "delete"; readonly policy: PropagationPolicy; readonly unblockOwners?: true }
  /** It is kept, whatever became of its other owners. */
  | { readonly do: "report"; readonly owners: readonly OwnerReference[] };

/** Decides about one object, as a cluster's garbage collector does. It has no other inputs. */
export function decideGarbage(surroundings: Surroundings): GarbageAction {
  const { object, ownerState, dependents, isInCycle } = surroundings;
  const { deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata;
  if (deletionTimestamp) return decideLeaving(surroundings, finalizers);
  if (ownerReferences.length === 0) return { do: "nothing" };

  const states = ownerReferences.map((owner) => ({ owner, uid: owner.uid, state: ownerState(owner) }));
  const impossible = states.filter(({ state }) => state === "impossible").map(({ owner }) => owner);
  if (impossible.length > 0) return { do: "report", owners: impossible };
  const lost = states.filter(({ state }) => state !== "present").map(({ uid }) => uid);
  if (lost.length === 0) return { do: "nothing" };
  // Another owner is left: only the references to absent ones are removed.
  if (lost.length < states.length) return { do: "dropOwners", uids: lost };
  if (states.some(({ state }) => state === "waiting") && dependents.length > 0)
    return { do: "delete", policy: "Foreground", ...(isInCycle() && { unblockOwners: true }) };
  return { do: "delete", policy: policyOf(finalizers) };
}

function decideLeaving({ object, dependents, isInCycle }: Surroundings, finalizers: readonly string[]): GarbageAction {
  if (finalizers.includes(orphanFinalizer)) {
    return dependents.length > 0 ? { do: "orphanDependents" } : { do: "removeFinalizer", finalizer: orphanFinalizer };
  }
  if (!finalizers.includes(foregroundFinalizer)) return { do: "nothing" };
  const blocked = dependents.some((dependent) => blocks(dependent, object));
  if (!blocked) return { do: "removeFinalizer", finalizer: foregroundFinalizer };
  return isInCycle() ? { do: "unblockOwners" } : { do: "askDependents" };
}

/** Whether the owner, in foreground deletion, waits for the dependent. */
export function blocks(dependent: KubeObject, owner: KubeObject): boolean {
  return (dependent.metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
  );
}

export function isInForegroundDeletion({ metadata: { deletionTimestamp, finalizers } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer) === true;
}

/** The object, for which its owners do not wait any more. */
export function withoutBlocking(object: KubeObject): KubeObject {
  const { ownerReferences = [], ...metadata } = object.metadata;
  const freed = ownerReferences.map((owner) =>
    owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner,
  );
  return { ...object, metadata: { ...metadata, ownerReferences: freed } };
}

function policyOf(finalizers: readonly string[]): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}
