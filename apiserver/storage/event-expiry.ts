import type { Logger } from "../../lib/log/log.ts";
import { type Running, startTask } from "../../lib/process/lifecycle.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Storage } from "./storage.ts";

const collection = "events";
// The default of kube-apiserver's --event-ttl.
const lifetimeMs = 60 * 60_000;
const sweepEveryMs = 60_000;

/** More than the events of a busy laptop in an hour. */
const eventsMax = 5_000;

/**
 * Removes events an hour after their last write, and the oldest when there are too many. A disk that is full keeps them, and ends
 * nothing.
 */
export function startEventExpiry(storage: Storage, clock: Clock, log: Logger): Running {
  const writtenMs = new Map<string, number>();
  storage.onCommit(({ resource, type, entry }) => {
    if (resource !== collection) return;
    const { uid } = entry.object.metadata;
    if (type === "DELETED") writtenMs.delete(uid);
    else writtenMs.set(uid, clock.ticksMs());
  });
  // The age of events of an earlier process is unknown to a monotonic clock, so it starts at zero.
  for (const { object } of storage.list(collection)) writtenMs.set(object.metadata.uid, clock.ticksMs());

  const round = async () => {
    const deadlineMs = clock.ticksMs() - lifetimeMs;
    for (const { object } of storage.list(collection)) {
      if ((writtenMs.get(object.metadata.uid) ?? 0) <= deadlineMs) storage.remove(collection, object);
    }
    for (let oldest = storage.oldest(collection); oldest && storage.size(collection) > eventsMax; ) {
      storage.remove(collection, oldest.object);
      oldest = storage.oldest(collection);
    }
    return sweepEveryMs;
  };
  const onFailure = (err: unknown, failures: number) => {
    log.warn({ err, failures }, "could not remove old events; retrying in a minute");
    return sweepEveryMs;
  };
  const pauses = { firstInMs: sweepEveryMs, backoff: { baseMs: sweepEveryMs, maxMs: sweepEveryMs, jitter: 0 } };
  return startTask("event expiry", (signal) => repeatUntilDone({ clock, signal, ...pauses, round, onFailure }));
}
