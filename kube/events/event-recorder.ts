import { eventType } from "../../api/kinds/core.ts";
import type { Logger } from "../../lib/log/log.ts";
import { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { KubeClient } from "../client/client.ts";
import { ApiUnreachable, isAlreadyExists } from "../client/errors.ts";
import { EventSeries, type EventWrite, type NewEvent, type Reporter } from "./event-series.ts";

export type { NewEvent } from "./event-series.ts";

export interface EventRecorder extends AsyncDisposable {
  /** Returns at once; an event that cannot be written is logged and dropped. */
  record(newEvent: NewEvent): void;
}

/**
 * Why an event was not written: its object has too many events, too many events wait to be written, or the API server rejected
 * it or could not be reached.
 */
export const eventDropReasons = ["object_rate_limit", "backlog", "write_failed"] as const;
export type EventDropReason = (typeof eventDropReasons)[number];

export interface EventRecorderOptions extends Reporter {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each event that is dropped. */
  readonly onDropped?: (reason: EventDropReason) => void;
}

// The first event is written at once; one write has all its repeats within this time.
const repeatsGatherMs = 60_000;
const attemptsMax = 5;
const retryBackoff = { baseMs: 500, maxMs: 10_000, jitter: 0.2 };
const flushLimitMs = 2_000;
/** One namespace has one of them: a write that hangs delays no event of another one. */
const workers = 4;

/** Records `events.k8s.io/v1` events in the background. Disposing writes pending ones, for at most two seconds. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, log, reportingController, reportingInstance, onDropped = () => {} } = options;
  const onBacklog = dropLog(options);
  const series = new EventSeries({ reportingController, reportingInstance }, () => {
    onDropped("backlog");
    onBacklog();
  });
  const queue = new KeyedQueue(clock, retryBackoff, { workers, workersOfGroup: 1 });
  const flushed = Promise.withResolvers<void>();
  let closing = false;

  const writing = startWorkers({
    name: "the event recorder",
    queue,
    workers,
    async reconcile(key, signal) {
      try {
        // A first event and its repeats are two writes.
        for (let next = series.next(key); next; next = series.next(key)) {
          await write(client, next, signal);
          series.written(key, next);
          if (!closing) break;
        }
      } catch (error) {
        const lastAttempt = closing || queue.failures(key) + 1 >= attemptsMax;
        if (signal.aborted || (error instanceof ApiUnreachable && !lastAttempt)) throw error;
        log.warn({ err: error, event: key }, "could not write an event; dropped");
        onDropped("write_failed");
        series.forget(key);
      }
      if (closing && series.unwritten().length === 0) flushed.resolve();
      // Repeats from before this write. The success of this pass ends the delay that they had.
      return series.next(key) ? { requeueAfterMs: repeatsGatherMs } : {};
    },
    onFailure: (key, error) => log.debug({ err: error, event: key }, "could not write an event; requeued"),
  });

  return {
    record(newEvent) {
      if (closing) return;
      const noted = series.add(newEvent, { now: clock.now(), ticksMs: clock.ticksMs() });
      if (noted) queue.addAfter(noted.key, noted.repeated ? repeatsGatherMs : 0);
      else {
        onDropped("object_rate_limit");
        log.debug({ reason: newEvent.reason }, "event rate limit of an object reached; dropping events");
      }
    },

    async [Symbol.asyncDispose]() {
      closing = true;
      using _limit = clock.after(flushLimitMs, flushed.resolve);
      const waiting = series.unwritten();
      for (const key of waiting) queue.add(key);
      if (waiting.length > 0) await flushed.promise;
      await writing[Symbol.asyncDispose]();
    },
  };
}

/** Logs once a minute how many events were dropped because too many are waiting. */
function dropLog({ clock, log }: EventRecorderOptions): () => void {
  const lines = new OncePerMinute(clock);
  let dropped = 0;
  return () => {
    dropped += 1;
    if (!lines.asks("dropped")) return;
    log.warn({ dropped }, "too many events wait to be written; dropping the oldest of the namespace with the most");
    dropped = 0;
  };
}

async function write(client: KubeClient, next: EventWrite, signal: AbortSignal): Promise<void> {
  const { namespace, name = "" } = next.event.metadata;
  if (next.do === "patch") {
    // Without a precondition: the name is random and ours alone, and an Event is only read. One that has expired is 404.
    const body = { series: next.series };
    await client.patch(eventType, { namespace, name }, { type: "merge", body }, {}, signal);
    return;
  }
  await client.create(eventType, next.event, {}, signal).catch((error: unknown) => {
    // The name is random, so the existing object is from an earlier attempt whose response was lost.
    if (!isAlreadyExists(error)) throw error;
  });
}
