import type { KubeObject, Stored } from "../api/meta.ts";
import { isNamespaceTerminating } from "../kube/errors.ts";
import type { Informer } from "../kube/informer.ts";
import type { Clock } from "../lib/clock.ts";
import { KeyedQueue, retryBackoff } from "../lib/keyed-queue.ts";
import type { Running } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import { type Outcome, startWorkers } from "../lib/workers.ts";
import type { RuntimeMetrics } from "./runtime-metrics.ts";

/** Tells which keys to look at, from now on until it is disposed of. */
export type Source = (enqueue: (key: string) => void) => Disposable;

export interface KindOptions {
  /** How metrics and the log call this controller. */
  readonly name: string;
  readonly workers: number;
  /** Keys that may wait for others; they hold half of the workers at most. Absent: none. */
  readonly mayWait?: (key: string) => boolean;
  readonly sources: readonly Source[];
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  /** What it works with: disposed of after the last pass. */
  readonly uses?: Disposable;
}

/** The keys that an informer's objects are about: at once for all that are there, then for each that changes. */
export function keysFrom<T extends KubeObject, I extends string>(
  informer: Informer<T, I>,
  toKeys: (object: Stored<T>) => readonly string[],
): Source {
  return (enqueue) => {
    for (const object of informer.store.list()) toKeys(object).forEach(enqueue);
    return informer.onChange(({ previous, current }) => {
      // An object may change whom it is about: both have to look.
      const keys = [previous, current].flatMap((object) => (object ? toKeys(object) : []));
      new Set(keys).forEach(enqueue);
    });
  };
}

/** Whether all that went wrong is that the namespace is being deleted: what there was to do would only be in the way. */
const isOnItsWayOut = (error: unknown): boolean => {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isOnItsWayOut);
  return (
    isNamespaceTerminating(error) || (error instanceof Error && error.cause !== undefined && isOnItsWayOut(error.cause))
  );
};

/** Starts the controller of one kind: a queue that the sources fill, and workers that empty it. */
export function startKind(options: KindOptions): Running {
  const { name, workers, sources, clock, metrics } = options;
  const log = options.log.child({ controller: name });
  const { mayWait } = options;
  const patience = mayWait && { mayWait, heldMax: Math.ceil(workers / 2) };
  const queue = new KeyedQueue(clock, retryBackoff, patience);
  const meter = metrics.ofController({ name, workers, queue });
  const enqueue = (key: string) => {
    meter.added(key);
    queue.add(key);
  };
  const reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    try {
      return await options.reconcile(key, signal);
    } catch (error) {
      if (!isOnItsWayOut(error)) throw error;
      log.debug({ err: error, key }, "left an object alone: its namespace is being deleted");
      return {};
    }
  };
  const subscriptions = new DisposableStack();
  for (const source of sources) subscriptions.use(source(enqueue));
  const working = startWorkers({
    name: `the ${name} controller`,
    queue,
    workers,
    reconcile: (key, signal) => meter.reconciled(key, () => reconcile(key, signal)),
    onFailure: (key, err) => {
      meter.retried();
      log.warn({ err, key, failures: queue.failures(key) + 1 }, "could not bring an object in line; trying again");
    },
  });
  return {
    failed: working.failed,
    async [Symbol.asyncDispose]() {
      subscriptions.dispose();
      await working[Symbol.asyncDispose]();
      options.uses?.[Symbol.dispose]();
    },
  };
}
