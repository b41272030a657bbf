import { namespaceType } from "../../api/kinds/core.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import { KeyedQueue, retryBackoff } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import { resourceName } from "../status-errors.ts";
import type { Commit } from "../storage/storage.ts";
import type { CollectorOptions } from "./garbage-collector.ts";
import { retryCeiling } from "./retry-ceiling.ts";

const collection = resourceName(namespaceType);

/** Empties namespaces that are being deleted, and removes them once they are empty. Its keys are names. */
export function startNamespaceController({ storage, kinds, deletion, clock, log }: CollectorOptions): Running {
  const queue = new KeyedQueue(clock, retryBackoff, { retries: retryCeiling });
  const isLeaving = (name: string) =>
    storage.get(collection, undefined, name)?.object.metadata.deletionTimestamp !== undefined;
  storage.onCommit(({ resource, type, entry }: Commit) => {
    const { name, namespace } = entry.object.metadata;
    if (resource === collection && isLeaving(name)) queue.add(name);
    if (type === "DELETED" && namespace !== undefined && isLeaving(namespace)) queue.add(namespace);
  });
  for (const { object } of storage.list(collection)) {
    if (object.metadata.deletionTimestamp) queue.add(object.metadata.name);
  }

  const empty = (namespace: string): void => {
    for (const { resource, entry } of [...storage.everything(namespace)]) {
      const kind = kinds.ofResource(resource);
      const { name, uid, deletionTimestamp } = entry.object.metadata;
      // An unserved kind has no controller, so its objects are removed with the namespace.
      if (!kind) storage.remove(resource, entry.object);
      else if (!deletionTimestamp) {
        deletion.delete(kind, namespace, name, { uid, propagationPolicy: "Background", dryRun: false });
      }
    }
  };

  return startWorkers({
    name: "namespace controller",
    queue,
    workers: 1,
    async reconcile(name) {
      if (!isLeaving(name)) return {};
      empty(name);
      const left = storage.everything(name)[Symbol.iterator]().next();
      const entry = storage.get(collection, undefined, name);
      if (left.done && entry && !entry.object.metadata.finalizers) storage.remove(collection, entry.object);
      return {};
    },
    onFailure: (name, error) => log.error({ namespace: name, err: error }, "could not empty a namespace; retrying"),
  });
}
