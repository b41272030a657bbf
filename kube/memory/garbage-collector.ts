import type { KubeObject, OwnerReference } from "../../api/meta.ts";
import { groupOf } from "../../api/resource-type.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeyedQueue } from "../../lib/keyed-queue.ts";
import type { Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { startWorkers } from "../../lib/workers.ts";
import { decideGarbage, type GarbageAction, type OwnerState } from "./garbage.ts";
import type { KindRegistry } from "./kind-registry.ts";
import { foregroundFinalizer, type ObjectDeletion } from "./object-deletion.ts";
import { storeOrFinish, withFinalizers } from "./object-lifecycle.ts";
import type { Commit, Located, Storage } from "./storage.ts";

export interface CollectorOptions {
  readonly storage: Storage;
  readonly kinds: KindRegistry;
  readonly deletion: ObjectDeletion;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Deletes what lost its owners, and lets owners go that wait for their dependents. Its keys are uids. */
export function startGarbageCollector({ storage, kinds, deletion, clock, log }: CollectorOptions): Running {
  const queue = new KeyedQueue(clock);
  const addDependents = (uid: string) => {
    for (const { entry } of storage.dependentsOf(uid)) queue.add(entry.object.metadata.uid);
  };
  storage.onCommit((commit) => {
    const { uid } = commit.entry.object.metadata;
    if (commit.type !== "DELETED" && needsLook(commit)) queue.add(uid);
    if (commit.type === "DELETED") addDependents(uid);
    // An owner that waits may have waited for this one.
    for (const owner of ownersBefore(commit)) if (storage.byUid(owner.uid)) queue.add(owner.uid);
  });
  // What happened before this process is not told again.
  for (const { entry } of storage.everything()) {
    const { uid, ownerReferences = [], deletionTimestamp } = entry.object.metadata;
    if (ownerReferences.length > 0 || deletionTimestamp) queue.add(uid);
  }

  const stateOf = (dependent: KubeObject, owner: OwnerReference): OwnerState => {
    // A kind that nobody serves cannot be looked up: leave its dependents alone.
    if (!kinds.ofGroupKind(groupOf(owner.apiVersion), owner.kind)) return "present";
    const found = storage.byUid(owner.uid)?.entry.object.metadata;
    if (!found || (found.namespace !== undefined && found.namespace !== dependent.metadata.namespace)) return "absent";
    return found.deletionTimestamp && found.finalizers?.includes(foregroundFinalizer) ? "waiting" : "present";
  };

  const perform = (action: GarbageAction, located: Located): void => {
    const { resource, entry } = located;
    const { object } = entry;
    const { uid, namespace, name, finalizers = [] } = object.metadata;
    const kind = kinds.ofResource(resource);
    switch (action.do) {
      case "nothing":
        return;
      case "askDependents":
        return addDependents(uid);
      case "orphanDependents":
        for (const dependent of storage.dependentsOf(uid)) dropOwners(storage, dependent, [uid]);
        return queue.add(uid);
      case "removeFinalizer": {
        const rest = finalizers.filter((finalizer) => finalizer !== action.finalizer);
        storeOrFinish(storage, resource, withFinalizers(object, rest));
        return;
      }
      case "dropOwners":
        return dropOwners(storage, located, action.uids);
      case "delete":
        if (kind) deletion.delete(kind, namespace, name, { uid, propagationPolicy: action.policy, dryRun: false });
        return;
    }
  };

  return startWorkers({
    name: "garbage collector",
    queue,
    workers: 1,
    async reconcile(uid) {
      const located = storage.byUid(uid);
      if (!located) return {};
      const { object } = located.entry;
      const dependents = storage.dependentsOf(uid).map(({ entry }) => entry.object);
      perform(decideGarbage({ object, dependents, ownerState: (owner) => stateOf(object, owner) }), located);
      return {};
    },
    onFailure: (uid, error) => log.error({ uid, err: error }, "cannot collect garbage"),
  });
}

/** Whether a commit changed anything that the collector decides by. */
function needsLook({ type, entry, previous }: Commit): boolean {
  const { ownerReferences, finalizers, deletionTimestamp } = entry.object.metadata;
  if (!ownerReferences && !deletionTimestamp) return false;
  if (type === "ADDED" || !previous) return true;
  const before = previous.object.metadata;
  return (
    deletionTimestamp !== before.deletionTimestamp ||
    JSON.stringify(ownerReferences) !== JSON.stringify(before.ownerReferences) ||
    JSON.stringify(finalizers) !== JSON.stringify(before.finalizers)
  );
}

function ownersBefore({ type, entry, previous }: Commit): readonly OwnerReference[] {
  const before = previous?.object.metadata.ownerReferences ?? [];
  const now = type === "DELETED" ? [] : (entry.object.metadata.ownerReferences ?? []);
  return before.filter(
    (owner) =>
      !now.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === owner.blockOwnerDeletion),
  );
}

function dropOwners(storage: Storage, { resource, entry }: Located, uids: readonly string[]): void {
  const { ownerReferences = [], ...metadata } = entry.object.metadata;
  const rest = ownerReferences.filter(({ uid }) => !uids.includes(uid));
  const next = { ...entry.object, metadata: { ...metadata, ...(rest.length > 0 && { ownerReferences: rest }) } };
  storeOrFinish(storage, resource, next);
}
