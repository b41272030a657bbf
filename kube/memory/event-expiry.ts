import type { Clock } from "../../lib/clock.ts";
import { type Running, startTask } from "../../lib/lifecycle.ts";
import type { Storage } from "./storage.ts";

const collection = "events";
// The default of kube-apiserver's --event-ttl.
const lifetimeMs = 60 * 60_000;
const sweepEveryMs = 60_000;

/** More than a busy laptop tells in an hour. */
const eventsMax = 5_000;

/** Forgets events an hour after they were last written, and the oldest when there are too many. */
export function startEventExpiry(storage: Storage, clock: Clock): Running {
  const writtenMs = new Map<string, number>();
  storage.onCommit(({ resource, type, entry }) => {
    if (resource !== collection) return;
    const { uid } = entry.object.metadata;
    if (type === "DELETED") writtenMs.delete(uid);
    else writtenMs.set(uid, clock.ticksMs());
  });
  // How old those are that another process left behind is not known to a monotonic clock: they begin anew.
  for (const { object } of storage.list(collection)) writtenMs.set(object.metadata.uid, clock.ticksMs());

  const sweep = () => {
    const deadlineMs = clock.ticksMs() - lifetimeMs;
    for (const { object } of storage.list(collection)) {
      if ((writtenMs.get(object.metadata.uid) ?? 0) <= deadlineMs) storage.remove(collection, object);
    }
    for (let oldest = storage.oldest(collection); oldest && storage.size(collection) > eventsMax; ) {
      storage.remove(collection, oldest.object);
      oldest = storage.oldest(collection);
    }
  };
  return startTask("event expiry", async (signal) => {
    while (!signal.aborted) {
      await clock.sleep(sweepEveryMs, signal).catch(() => {});
      if (!signal.aborted) sweep();
    }
  });
}
