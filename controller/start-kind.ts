import { type KubeObject, keyOf, parseKey, type Stored } from "../api/kinds/meta.ts";
import { isNamespaceTerminating } from "../kube/client/errors.ts";
import type { Change, Informer } from "../kube/informer/informer.ts";
import { FailureLog } from "../lib/log/failure-log.ts";
import type { Logger } from "../lib/log/log.ts";
import type { Running } from "../lib/process/lifecycle.ts";
import { KeyedQueue, retryBackoff } from "../lib/queues/keyed-queue.ts";
import { type Outcome, startWorkers } from "../lib/queues/workers.ts";
import type { Clock } from "../lib/time/clock.ts";
import { onClockJump } from "../lib/time/clock-jumps.ts";
import type { Turns } from "../lib/time/turns.ts";
import type { RuntimeMetrics } from "./metrics/runtime-metrics.ts";
import { semanticallyEqual } from "./semantic-equality.ts";

/** 30 s: as long as a person or a connection waits. The longest retry delay of an object that somebody waits for. */
const awaitedRetryMs = 30_000;

/** With fewer workers, one namespace whose calls hang could hold all of them. */
const workersMin = 4;

/** Enqueues the keys to reconcile until it is disposed of. */
export type Source = (enqueue: (key: string) => void) => Disposable;

export interface KindOptions {
  /** The name of this controller in metrics and logs. */
  readonly name: string;
  /** If these are fewer than four, there are four, of which one namespace has so many. */
  readonly workers: number;
  /** Low-priority keys; they occupy at most half of the workers. Absent: none. */
  readonly mayWait?: (key: string) => boolean;
  /**
   * Whether somebody waits for this key, so that its retry delay has a ceiling. Default: for every key, as Pods wait for
   * NetworkPolicies, claims for members of pools, and clients for EndpointSlices.
   */
  readonly isAwaited?: (key: string) => boolean;
  readonly sources: readonly Source[];
  /**
   * Sources of events about objects of others, for which a key may have waited. One of them may concern all keys of a namespace, so they
   * bring the retry after a failed pass forward only at the rate of retries. Absent: none.
   */
  readonly obstacles?: readonly Source[];
  /**
   * The objects whose keys are reconciled, whose status this controller writes: all that exist at once, then each that changes. A
   * change of the status alone does not end the delay after a failed pass. Absent: the sources say all.
   */
  readonly objects?: Pick<Informer<KubeObject>, "store" | "onChange">;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  /** As of `startWorkers`. */
  readonly turns?: Turns | undefined;
  /** Dependencies that are disposed of after the last pass. */
  readonly uses?: Disposable;
}

/** The keys for an informer's objects: for all existing objects at once, then for each change. */
export function keysFrom<T extends KubeObject, I extends string>(
  informer: Informer<T, I>,
  toKeys: (object: Stored<T>) => readonly string[],
): Source {
  return (enqueue) => {
    for (const object of informer.store.list()) toKeys(object).forEach(enqueue);
    return informer.onChange(({ previous, current }) => {
      // A change may move an object from one key to another: enqueue both.
      const keys = [previous, current].flatMap((object) => (object ? toKeys(object) : []));
      new Set(keys).forEach(enqueue);
    });
  };
}

/** Such as our own write of a status: anything else has another generation or other metadata. */
export function isOfStatusAlone({ previous, current }: Change<KubeObject>): boolean {
  if (previous?.metadata.generation === undefined || !current) return false;
  return semanticallyEqual(unversioned(previous), unversioned(current));
}

const unversioned = ({ metadata }: Stored<KubeObject>) => ({ ...metadata, resourceVersion: "" });

/** Whether the only error is that the namespace is being deleted: then the reconcile is no longer needed. */
const isOnItsWayOut = (error: unknown): boolean => {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isOnItsWayOut);
  return (
    isNamespaceTerminating(error) || (error instanceof Error && error.cause !== undefined && isOnItsWayOut(error.cause))
  );
};

/** A namespace with an exhausted quota delays only its own sandboxes, not the API server or other namespaces. */
const retriesMax = { groupOf: (key: string) => parseKey(key).namespace ?? "", perSecondAndGroup: 10, perSecond: 200 };

/** Starts the controller of one kind: a queue that the sources fill, and workers that process it. */
export function startKind(options: KindOptions): Running {
  const { name, sources, clock, metrics } = options;
  const workers = Math.max(options.workers, workersMin);
  const log = options.log.child({ controller: name });
  const failureLog = new FailureLog(log, clock);
  const { mayWait, isAwaited = () => true } = options;
  const patience = mayWait && { mayWait, heldMax: Math.ceil(options.workers / 2) };
  const ceilingMs = (key: string) => (isAwaited(key) ? awaitedRetryMs : undefined);
  const retries = { ...retriesMax, ceilingMs };
  const queue = new KeyedQueue(clock, retryBackoff, { patience, retries, workers, workersOfGroup: options.workers });
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
      log.debug({ err: error, key }, "skipped an object: its namespace is being deleted");
      return {};
    }
  };
  const subscriptions = new DisposableStack();
  for (const source of sources) subscriptions.use(source(enqueue));
  const { objects, obstacles = [] } = options;
  const enqueueForOther = (key: string) => queue.addForOther(key, () => meter.added(key));
  for (const source of obstacles) subscriptions.use(source(enqueueForOther));
  for (const object of objects?.store.list() ?? []) enqueue(keyOf(object));
  const onChange = (change: Change<KubeObject>) =>
    isOfStatusAlone(change) ? queue.addUnlessFailed(change.key, () => meter.added(change.key)) : enqueue(change.key);
  if (objects) subscriptions.use(objects.onChange(onChange));
  // Most delays end at a wall-clock time, such as a shutdownTime. An early pass costs no API call, but for what has failed.
  subscriptions.use(onClockJump(clock, () => queue.addAllDelayed()));
  const working = startWorkers({
    name: `the ${name} controller`,
    queue,
    workers,
    turns: options.turns,
    reconcile: (key, signal) => meter.reconciled(key, () => reconcile(key, signal)),
    onFailure: (key, err) => {
      meter.retried();
      failureLog.failed(key, err, queue.failures(key) + 1);
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
