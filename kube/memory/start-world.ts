import { customResourceDefinitionType } from "../../api/core.ts";
import type { Clock } from "../../lib/clock.ts";
import { firstFailure, type Running } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import type { DataDir } from "./data-dir.ts";
import { startEventExpiry } from "./event-expiry.ts";
import { showDefinitions } from "./first-objects.ts";
import { startGarbageCollector } from "./garbage-collector.ts";
import { type KindRegistry, storedResource } from "./kind-registry.ts";
import { startNamespaceController } from "./namespace-controller.ts";
import { addFirstNamespaces } from "./namespaces.ts";
import { ObjectDeletion } from "./object-deletion.ts";
import { ObjectWrites } from "./object-writes.ts";
import type { ServedKind } from "./served-kind.ts";
import { Storage } from "./storage.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watches } from "./watches.ts";

export interface WorldOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly kinds: KindRegistry;
  readonly dataDir: DataDir | undefined;
}

/** The objects, and everything that happens to them by itself. */
export interface World extends Running {
  readonly storage: Storage;
  readonly writes: ObjectWrites;
  readonly deletion: ObjectDeletion;
  readonly watches: Watches;
}

const historyLength = 1_000;
const watchLimits = { watchesMax: 2_000, bufferedBytesMax: 8 * 1024 * 1024, bookmarkEveryMs: 60_000 };

export function startWorld({ clock, log, kinds, dataDir }: WorldOptions): World {
  const storage = new Storage(dataDir?.state, dataDir && ((commit) => dataDir.record(commit)));
  const hub = new WatchHub(storage.version, { historyLength });
  storage.onCommit((commit) => hub.publish(commit));
  if (dataDir) storage.onCommit(() => dataDir.compactIfDue(() => storage.state()));
  addFirstNamespaces(storage, clock.now());
  const { group, kind } = customResourceDefinitionType;
  if (kinds.ofGroupKind(group, kind)) showDefinitions(storage, clock.now());
  for (const kind of kinds.kinds) tellCommits(storage, kind);

  const writes = new ObjectWrites(storage, clock);
  const deletion = new ObjectDeletion(storage, clock);
  const background = new AsyncDisposableStack();
  const failed = firstFailure(
    background.use(startGarbageCollector({ storage, kinds, deletion, clock, log })),
    background.use(startNamespaceController({ storage, kinds, deletion, clock, log })),
    background.use(startEventExpiry(storage, clock)),
  );
  return {
    storage,
    writes,
    deletion,
    watches: new Watches({ storage, hub, clock, limits: watchLimits }),
    failed,
    [Symbol.asyncDispose]: () => background.disposeAsync(),
  };
}

/** What is there now, and from now on what changes. */
function tellCommits(storage: Storage, { committed, ...served }: ServedKind): void {
  if (!committed) return;
  const ours = storedResource(served);
  for (const { object } of storage.list(ours)) committed(object, undefined);
  storage.onCommit(({ type, resource, entry, previous }) => {
    if (resource === ours) committed(type === "DELETED" ? undefined : entry.object, previous?.object);
  });
}
