import type { KubeObject, OwnerReference } from "../../api/kinds/meta.ts";
import { groupOf } from "../../api/kinds/resource-type.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import { KeyedQueue, retryBackoff } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { KindRegistry } from "../kind-registry.ts";
import type { Commit, Located, Storage } from "../storage/storage.ts";
import {
  blocks,
  decideGarbage,
  type GarbageAction,
  isInForegroundDeletion,
  type OwnerState,
  withoutBlocking,
} from "./garbage.ts";
import { recordOwnerReport } from "./garbage-events.ts";
import type { ObjectDeletion } from "./object-deletion.ts";
import { storeOrFinish, withFinalizers } from "./object-lifecycle.ts";
import type { ObjectWrites } from "./object-writes.ts";
import { retryCeiling } from "./retry-ceiling.ts";

export interface CollectorOptions {
  readonly storage: Storage;
  readonly kinds: KindRegistry;
  readonly writes: ObjectWrites;
  readonly deletion: ObjectDeletion;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Deletes objects without owners, and releases owners that wait for their dependents. Its keys are UIDs. */
export function startGarbageCollector(options: CollectorOptions): Running {
  const queue = new KeyedQueue(options.clock, retryBackoff, { retries: retryCeiling });
  const collector = new GarbageCollector(options, queue);
  return startWorkers({
    name: "garbage collector",
    queue,
    workers: 1,
    reconcile: async (uid) => {
      collector.collect(uid);
      return {};
    },
    onFailure: (uid, error) => options.log.error({ uid, err: error }, "garbage collection failed; retrying"),
  });
}

class GarbageCollector {
  readonly #options: CollectorOptions;
  readonly #storage: Storage;
  readonly #kinds: KindRegistry;
  readonly #deletion: ObjectDeletion;
  readonly #queue: KeyedQueue;

  constructor(options: CollectorOptions, queue: KeyedQueue) {
    const { storage, kinds, deletion } = options;
    this.#options = options;
    this.#storage = storage;
    this.#kinds = kinds;
    this.#deletion = deletion;
    this.#queue = queue;
    storage.onCommit((commit) => this.#enqueue(commit));
    // No commit announces the work that an earlier process left.
    for (const { entry } of storage.everything()) {
      const { uid, ownerReferences = [], deletionTimestamp } = entry.object.metadata;
      if (ownerReferences.length > 0 || deletionTimestamp) queue.add(uid);
    }
  }

  collect(uid: string): void {
    const located = this.#storage.byUid(uid);
    if (!located) return;
    const { object } = located.entry;
    const dependents = this.#dependentsOf(object);
    const ownerState = (owner: OwnerReference) => this.#stateOf(object, owner);
    const isInCycle = () => this.#isInCycle(object);
    this.#perform(decideGarbage({ object, dependents, ownerState, isInCycle }), located);
  }

  #dependentsOf({ metadata: { uid = "", namespace } }: KubeObject): readonly KubeObject[] {
    const dependents = this.#storage.dependentsOf(uid).map(({ entry }) => entry.object);
    // One that is never collected must not keep its owner.
    return dependents.filter(({ metadata }) => metadata.namespace !== undefined || namespace === undefined);
  }

  /** Whether a way leads from the object back to it, from each owner to a dependent for which it waits. */
  #isInCycle(object: KubeObject): boolean {
    const { uid } = object.metadata;
    const seen = new Set<string | undefined>();
    const rest = [object];
    for (let owner = rest.pop(); owner; owner = rest.pop()) {
      for (const dependent of this.#dependentsOf(owner)) {
        if (!blocks(dependent, owner)) continue;
        if (dependent.metadata.uid === uid) return true;
        if (seen.has(dependent.metadata.uid) || !isInForegroundDeletion(dependent)) continue;
        seen.add(dependent.metadata.uid);
        rest.push(dependent);
      }
    }
    return false;
  }

  #enqueue(commit: Commit): void {
    const { uid } = commit.entry.object.metadata;
    if (commit.type !== "DELETED" && needsCheck(commit)) this.#queue.add(uid);
    if (commit.type === "DELETED") this.#addDependents(uid);
    // An owner in foreground deletion may have waited for this dependent.
    for (const owner of ownersBefore(commit)) if (this.#storage.byUid(owner.uid)) this.#queue.add(owner.uid);
  }

  #addDependents(uid: string, which: (dependent: KubeObject) => boolean = () => true): void {
    for (const { entry } of this.#storage.dependentsOf(uid)) {
      if (which(entry.object)) this.#queue.add(entry.object.metadata.uid);
    }
  }

  #stateOf(dependent: KubeObject, owner: OwnerReference): OwnerState {
    // An object of an unserved kind cannot be read: keep its dependents.
    const kind = this.#kinds.ofGroupKind(groupOf(owner.apiVersion), owner.kind);
    if (!kind) return "present";
    if (kind.type.namespaced && dependent.metadata.namespace === undefined) return "impossible";
    const found = this.#storage.byUid(owner.uid)?.entry.object;
    const namespace = found?.metadata.namespace;
    if (!found || (namespace !== undefined && namespace !== dependent.metadata.namespace)) return "absent";
    return isInForegroundDeletion(found) ? "waiting" : "present";
  }

  #perform(action: GarbageAction, located: Located): void {
    const { resource, entry } = located;
    const { object } = entry;
    const { uid, namespace, name, finalizers = [] } = object.metadata;
    const kind = this.#kinds.ofResource(resource);
    switch (action.do) {
      case "nothing":
        return;
      case "askDependents":
        return this.#addDependents(uid, ({ metadata }) => !metadata.deletionTimestamp);
      case "unblockOwners":
        storeOrFinish(this.#storage, resource, withoutBlocking(object));
        return;
      case "orphanDependents":
        for (const dependent of this.#storage.dependentsOf(uid)) dropOwners(this.#storage, dependent, [uid]);
        return this.#queue.add(uid);
      case "removeFinalizer": {
        const rest = finalizers.filter((finalizer) => finalizer !== action.finalizer);
        storeOrFinish(this.#storage, resource, withFinalizers(object, rest));
        return;
      }
      case "dropOwners":
        return dropOwners(this.#storage, located, action.uids);
      case "delete":
        if (!kind) return;
        if (action.unblockOwners) this.#storage.put(resource, withoutBlocking(object));
        this.#deletion.delete(kind, namespace, name, { uid, propagationPolicy: action.policy, dryRun: false });
        return;
      case "report":
        return recordOwnerReport(this.#options, object, action.owners);
    }
  }
}

/** Whether a commit changed an input of the collector. */
function needsCheck({ type, entry, previous }: Commit): boolean {
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
  if (before.length === 0) return [];
  const keyOf = ({ uid, blockOwnerDeletion }: OwnerReference) => `${blockOwnerDeletion} ${uid}`;
  const kept = new Set(now.map(keyOf));
  return before.filter((owner) => !kept.has(keyOf(owner)));
}

function dropOwners(storage: Storage, { resource, entry }: Located, uids: readonly string[]): void {
  const { ownerReferences = [], ...metadata } = entry.object.metadata;
  const dropped = new Set(uids);
  const rest = ownerReferences.filter(({ uid }) => !dropped.has(uid));
  const next = { ...entry.object, metadata: { ...metadata, ...(rest.length > 0 && { ownerReferences: rest }) } };
  storeOrFinish(storage, resource, next);
}
