import { eventType } from "../api/core.ts";
import type { Clock } from "../lib/clock.ts";
import { KeyedQueue } from "../lib/keyed-queue.ts";
import type { Logger } from "../lib/log.ts";
import { startWorkers } from "../lib/workers.ts";
import type { KubeClient } from "./client.ts";
import { ApiUnreachable, isAlreadyExists } from "./errors.ts";
import { EventSeries, type EventWrite, type Happening, type Reporter } from "./event-series.ts";

export type { Happening } from "./event-series.ts";

export interface EventRecorder extends AsyncDisposable {
  /** Returns at once; what cannot be written is logged and forgotten. */
  record(happening: Happening): void;
}

export interface EventRecorderOptions extends Reporter {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

// A first event is written at once; one write tells of all its repeats within so long.
const repeatsGatherMs = 60_000;
const attemptsMax = 5;
const retryBackoff = { baseMs: 500, maxMs: 10_000, jitter: 0.2 };
const flushLimitMs = 2_000;

/** Records `events.k8s.io/v1` events in the background. Disposal writes what waits, for at most two seconds. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, log, reportingController, reportingInstance } = options;
  const series = new EventSeries({ reportingController, reportingInstance });
  const queue = new KeyedQueue(clock, retryBackoff);
  const flushed = Promise.withResolvers<void>();
  let closing = false;

  const workers = startWorkers({
    name: "the event recorder",
    queue,
    workers: 1,
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
        log.warn({ err: error, event: key }, "an event could not be written");
        series.forget(key);
      }
      if (closing && series.unwritten().length === 0) flushed.resolve();
      return {};
    },
    onFailure: (key, error) => log.debug({ err: error, event: key }, "an event will be written later"),
  });

  return {
    record(happening) {
      if (closing) return;
      const noted = series.add(happening, { now: clock.now(), ticksMs: clock.ticksMs() });
      if (noted) queue.addAfter(noted.key, noted.repeated ? repeatsGatherMs : 0);
      else log.debug({ reason: happening.reason }, "too many events about one object");
    },

    async [Symbol.asyncDispose]() {
      closing = true;
      using _limit = clock.after(flushLimitMs, flushed.resolve);
      const waiting = series.unwritten();
      for (const key of waiting) queue.add(key);
      if (waiting.length > 0) await flushed.promise;
      await workers[Symbol.asyncDispose]();
    },
  };
}

async function write(client: KubeClient, next: EventWrite, signal: AbortSignal): Promise<void> {
  const { namespace, name = "" } = next.event.metadata;
  if (next.do === "patch") {
    const body = { series: next.series };
    await client.patch(eventType, { namespace, name }, { type: "merge", body }, {}, signal);
    return;
  }
  await client.create(eventType, next.event, {}, signal).catch((error: unknown) => {
    // The name is random, so it can only be our own attempt whose answer got lost.
    if (!isAlreadyExists(error)) throw error;
  });
}
