import type { KubeObject, OwnerReference } from "../../api/meta.ts";
import { foregroundFinalizer, orphanFinalizer, type PropagationPolicy } from "./object-deletion.ts";

/** How an owner that an object names stands: there, gone, or waiting for its dependents to go first. */
export type OwnerState = "present" | "absent" | "waiting";

export interface Surroundings {
  readonly object: KubeObject;
  readonly ownerState: (owner: OwnerReference) => OwnerState;
  readonly dependents: readonly KubeObject[];
}

/** What the garbage collector does about one object. */
export type GarbageAction =
  | { readonly do: "nothing" }
  /** It waits for its dependents: they have to look at themselves. */
  | { readonly do: "askDependents" }
  | { readonly do: "orphanDependents" }
  | { readonly do: "removeFinalizer"; readonly finalizer: string }
  | { readonly do: "dropOwners"; readonly uids: readonly string[] }
  | { readonly do: "delete"; readonly policy: PropagationPolicy };

/** Decides about one object, as the garbage collector of a cluster does; nothing here looks at anything else. */
export function decideGarbage({ object, ownerState, dependents }: Surroundings): GarbageAction {
  const { deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata;
  if (deletionTimestamp) return decideLeaving(object, finalizers, dependents);
  if (ownerReferences.length === 0) return { do: "nothing" };

  const states = ownerReferences.map((owner) => ({ uid: owner.uid, state: ownerState(owner) }));
  const lost = states.filter(({ state }) => state !== "present").map(({ uid }) => uid);
  if (lost.length === 0) return { do: "nothing" };
  // Somebody still wants it: only the names of those who do not are taken off.
  if (lost.length < states.length) return { do: "dropOwners", uids: lost };
  if (states.some(({ state }) => state === "waiting") && dependents.length > 0)
    return { do: "delete", policy: "Foreground" };
  return { do: "delete", policy: policyOf(finalizers) };
}

function decideLeaving(
  object: KubeObject,
  finalizers: readonly string[],
  dependents: readonly KubeObject[],
): GarbageAction {
  if (finalizers.includes(orphanFinalizer)) {
    return dependents.length > 0 ? { do: "orphanDependents" } : { do: "removeFinalizer", finalizer: orphanFinalizer };
  }
  if (!finalizers.includes(foregroundFinalizer)) return { do: "nothing" };
  const blocked = dependents.some((dependent) => blocks(dependent, object));
  return blocked ? { do: "askDependents" } : { do: "removeFinalizer", finalizer: foregroundFinalizer };
}

function blocks(dependent: KubeObject, owner: KubeObject): boolean {
  return (dependent.metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
  );
}

function policyOf(finalizers: readonly string[]): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}
