import { customResourceDefinitionType } from "../api/kinds/core.ts";
import type { Logger } from "../lib/log/log.ts";
import { firstFailure, type Running } from "../lib/process/lifecycle.ts";
import type { Clock } from "../lib/time/clock.ts";
import { type KindRegistry, storedResource } from "./kind-registry.ts";
import { showDefinitions } from "./objects/first-objects.ts";
import { startGarbageCollector } from "./objects/garbage-collector.ts";
import { startNamespaceController } from "./objects/namespace-controller.ts";
import { addFirstNamespaces } from "./objects/namespaces.ts";
import { ObjectDeletion } from "./objects/object-deletion.ts";
import { ObjectWrites } from "./objects/object-writes.ts";
import type { ServedKind } from "./served-kind.ts";
import { Compaction } from "./storage/compaction.ts";
import type { DataDir } from "./storage/data-dir.ts";
import { startEventExpiry } from "./storage/event-expiry.ts";
import { quotaForHeap } from "./storage/quota.ts";
import { Storage } from "./storage/storage.ts";
import { WatchHub } from "./watch/watch-hub.ts";
import { Watches } from "./watch/watches.ts";

export interface ObjectStoreOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly kinds: KindRegistry;
  readonly dataDir: DataDir | undefined;
  /** What all objects may weigh: their bytes in JSON, and 100 for each value. Default: what fits into the heap. */
  readonly quotaBytes?: number | undefined;
}

/** The objects, and the controllers that change them. */
export interface ObjectStore extends Running {
  readonly storage: Storage;
  readonly writes: ObjectWrites;
  readonly deletion: ObjectDeletion;
  readonly hub: WatchHub;
  readonly watches: Watches;
}

/** An object, its text and its events take about three times its weight. A small heap has a smaller history. */
const historyLimits = { historyLength: 1_000, historyWeightMax: Math.min(128 * 1024 * 1024, quotaForHeap() / 2) };
const watchLimits = {
  watchesMax: 2_000,
  watchesOfProgramMax: 1_500,
  bufferedBytesMax: 8 * 1024 * 1024,
  unsentBytesMax: Math.min(64 * 1024 * 1024, quotaForHeap() / 2),
  bookmarkEveryMs: 60_000,
};

export function startObjectStore({ clock, log, kinds, dataDir, quotaBytes }: ObjectStoreOptions): ObjectStore {
  const compaction = dataDir && new Compaction(dataDir, clock, log);
  const storage: Storage = new Storage(dataDir?.state, (commit) => compaction?.record(commit, () => storage.state()));
  const hub = new WatchHub(storage.version, historyLimits);
  storage.onCommit((commit) => hub.publish(commit));
  if (compaction) storage.onCommit(() => compaction.afterCommit(() => storage.state()));
  addFirstNamespaces(storage, clock.now());
  const { group, kind } = customResourceDefinitionType;
  if (kinds.ofGroupKind(group, kind)) showDefinitions(storage, clock.now());
  for (const kind of kinds.kinds) reportCommits(storage, kind);

  const writes = new ObjectWrites(storage, clock, quotaBytes);
  const deletion = new ObjectDeletion(storage, clock);
  const controllers = { storage, kinds, writes, deletion, clock, log };
  const background = new AsyncDisposableStack();
  const failed = firstFailure(
    background.use(startGarbageCollector(controllers)),
    background.use(startNamespaceController(controllers)),
    background.use(startEventExpiry(storage, clock, log)),
  );
  return {
    storage,
    writes,
    deletion,
    hub,
    watches: new Watches({ storage, hub, clock, limits: watchLimits }),
    failed,
    [Symbol.asyncDispose]: () => background.disposeAsync(),
  };
}

/** Reports existing objects once, and later changes. */
function reportCommits(storage: Storage, { committed, ...served }: ServedKind): void {
  if (!committed) return;
  const ours = storedResource(served);
  for (const { object } of storage.list(ours)) committed(object, undefined);
  storage.onCommit(({ type, resource, entry, previous }) => {
    if (resource === ours) committed(type === "DELETED" ? undefined : entry.object, previous?.object);
  });
}
