import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { KeyedQueue } from "../../lib/queues/keyed-queue.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";

interface Controller {
  readonly name: string;
  readonly workers: number;
  readonly queue: KeyedQueue;
}

/** Watches one controller at work. */
export interface ControllerMeter {
  /** A key was put into the queue, or was there already. */
  added(key: string): void;
  retried(): void;
  /** Runs one reconcile and counts how it ended. */
  reconciled(key: string, reconcile: () => Promise<Outcome>): Promise<Outcome>;
}

export interface RuntimeMetrics {
  ofController(controller: Controller): ControllerMeter;
}

const results = ["success", "error", "requeue_after"] as const;

/** The families under which the ecosystem's load tests and dashboards query for any controller; once per registry. */
export function createRuntimeMetrics(registry: Registry, clock: Clock): RuntimeMetrics {
  const instruments = createInstruments(registry);
  return { ofController: (controller) => meterOf(controller, instruments, clock) };
}

function meterOf(
  { name, workers, queue }: Controller,
  instruments: ReturnType<typeof createInstruments>,
  clock: Clock,
): ControllerMeter {
  const byController = { controller: name };
  const byQueue = { name, controller: name };
  const waitingSinceMs = new Map<string, number>();
  const sinceS = (startMs: number) => (clock.ticksMs() - startMs) / 1_000;
  instruments.workers.set(byController, workers);
  instruments.active.set(byController, 0);
  for (const result of results) instruments.reconciles.inc({ ...byController, result }, 0);
  instruments.errors.inc(byController, 0);
  instruments.adds.inc(byQueue, 0);
  instruments.retries.inc(byQueue, 0);
  instruments.depths.set(name, queue);
  const begunMs = new Map<string, number>();
  instruments.begun.set(name, () => [...begunMs.values()].map(sinceS));

  return {
    added(key) {
      instruments.adds.inc(byQueue);
      if (!waitingSinceMs.has(key)) waitingSinceMs.set(key, clock.ticksMs());
    },
    retried: () => instruments.retries.inc(byQueue),
    async reconciled(key, reconcile) {
      const addedMs = waitingSinceMs.get(key);
      if (addedMs !== undefined) instruments.waited.observe(byQueue, sinceS(addedMs));
      waitingSinceMs.delete(key);
      const startMs = clock.ticksMs();
      begunMs.set(key, startMs);
      let result: (typeof results)[number] = "error";
      instruments.active.inc(byController);
      try {
        const outcome = await reconcile();
        result = outcome.requeueAfterMs === undefined ? "success" : "requeue_after";
        return outcome;
      } catch (error) {
        instruments.errors.inc(byController);
        throw error;
      } finally {
        begunMs.delete(key);
        instruments.active.dec(byController);
        instruments.reconciles.inc({ ...byController, result });
        instruments.took.observe(byController, sinceS(startMs));
        instruments.worked.observe(byQueue, sinceS(startMs));
      }
    },
  };
}

// The bounds of the families of the same names elsewhere, in seconds.
const queueBucketsS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];
const reconcileBucketsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

function createInstruments(registry: Registry) {
  const registers = [registry];
  const byController = { labelNames: ["controller"], registers };
  const byQueue = { labelNames: ["name", "controller"], registers };
  const depths = new Map<string, KeyedQueue>();
  new Gauge({
    name: "workqueue_depth",
    help: "Current number of keys in the work queue.",
    ...byQueue,
    collect() {
      for (const [name, queue] of depths) this.set({ name, controller: name }, queue.depth);
    },
  });
  const begun = createWorkerGauges(byQueue);
  return {
    depths,
    begun,
    reconciles: new Counter({
      name: "controller_runtime_reconcile_total",
      help: "Reconciles, by result: success, requeue_after (success, and the object is due again at a known time) or error.",
      labelNames: ["controller", "result"],
      registers,
    }),
    errors: new Counter({
      name: "controller_runtime_reconcile_errors_total",
      help: "Reconciles that failed.",
      ...byController,
    }),
    took: new Histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "Duration of reconciles.",
      buckets: reconcileBucketsS,
      ...byController,
    }),
    active: new Gauge({
      name: "controller_runtime_active_workers",
      help: "Current number of workers that reconcile.",
      ...byController,
    }),
    workers: new Gauge({
      name: "controller_runtime_max_concurrent_reconciles",
      help: "Maximum number of concurrent reconciles.",
      ...byController,
    }),
    adds: new Counter({ name: "workqueue_adds_total", help: "Keys added to the work queue.", ...byQueue }),
    retries: new Counter({ name: "workqueue_retries_total", help: "Keys requeued after a failure.", ...byQueue }),
    waited: new Histogram({
      name: "workqueue_queue_duration_seconds",
      help: "Time that keys waited in the work queue.",
      buckets: queueBucketsS,
      ...byQueue,
    }),
    worked: new Histogram({
      name: "workqueue_work_duration_seconds",
      help: "Time that workers spent on a key.",
      buckets: queueBucketsS,
      ...byQueue,
    }),
  };
}

/** Two gauges of what workers hold now; the map says for how many seconds each of a controller's workers has been at its key. */
function createWorkerGauges(byQueue: { readonly labelNames: string[]; readonly registers: Registry[] }) {
  const begun = new Map<string, () => readonly number[]>();
  const ofWorkers = (name: string, help: string, sum: (seconds: readonly number[]) => number) =>
    new Gauge({
      name,
      help,
      ...byQueue,
      collect() {
        for (const [controller, seconds] of begun) this.set({ name: controller, controller }, sum(seconds()));
      },
    });
  ofWorkers(
    "workqueue_unfinished_work_seconds",
    "Total time that workers have spent on their current keys, in seconds.",
    (all) => all.reduce((total, seconds) => total + seconds, 0),
  );
  ofWorkers(
    "workqueue_longest_running_processor_seconds",
    "Longest time that a worker has spent on its current key, in seconds.",
    (all) => Math.max(0, ...all),
  );
  return begun;
}
