import { keyOf, parseKey, type Stored } from "../../api/kinds/meta.ts";
import {
  type SandboxWarmPool,
  type SandboxWarmPoolStatus,
  sandboxWarmPoolType,
} from "../../api/kinds/sandbox-warm-pool.ts";
import { effectivePoolReplicas } from "../../api/rules/defaults.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Outcome } from "../../lib/queues/workers.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Turns } from "../../lib/time/turns.ts";
import { patchStatus } from "../sandbox/status/patch-status.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { expectationsKey } from "./members.ts";
import { observe, readOverduePods, type StoresSeen, type WarmPoolViews } from "./observe.ts";
import type { Observed } from "./observed.ts";
import { PoolMemory } from "./pool-memory.ts";
import { type Census, reconcileMembers, type WarmPoolWriters } from "./reconcile-members.ts";
import { decideSize } from "./resize/decide-size.ts";
import { type Resized, resize } from "./resize/resize.ts";
import type { WarmPoolSettings } from "./settings.ts";
import { conclude, statusOf } from "./status/conclude.ts";

export interface WarmPoolReconcilerOptions {
  readonly views: WarmPoolViews;
  readonly writers: WarmPoolWriters;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly settings: WarmPoolSettings;
  readonly turns?: Turns | undefined;
}

/** Keeps each pool at the size and on the template that its object asks for, one pool at a time. */
export class WarmPoolReconciler {
  readonly #options: WarmPoolReconcilerOptions;
  readonly #memories = new Map<string, PoolMemory>();

  constructor(options: WarmPoolReconcilerOptions) {
    this.#options = options;
  }

  /** The number of pools that made no progress in their last reconcile. */
  get notProgressing(): number {
    return [...this.#memories.values()].filter(({ notProgressing }) => notProgressing).length;
  }

  /**
   * The status is written also after failures: a pool that cannot grow must not seem full.
   *
   * @throws AggregateError when something failed.
   */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const { views, writers, events, settings } = this.#options;
    const seen = observe(key, views);
    if (!seen) return this.#forget(key);
    const memory = this.#memoryOf(seen.pool);
    memory.patience.madeFrom(seen.template);
    const { observed, failures } = await this.#withPods(seen, memory, signal);
    const batch = { max: settings.maxBatch, refused: memory.refused };
    const census = await reconcileMembers(observed, writers, batch, signal);
    memory.patience.note(census.active, census.replaced);
    // It takes a while to make many, and meanwhile the status would be as old.
    const [resized, { isGone = false, unwritten }] = await Promise.all([
      this.#resize(observed, census, memory, signal),
      this.#write(observed.pool, statusOf(observed, census), signal),
    ]);
    const { notProgressing, happening, requeueAfterMs } = conclude({
      observed,
      census,
      resized,
      wasNotProgressing: memory.notProgressing,
      patience: memory.patience,
      gapMs: memory.gapMs(seen.policyGap !== undefined),
      settings,
    });
    if (isGone || resized.isPoolGone) return this.#forget(key);
    if (happening) events.record(happening);
    memory.notProgressing = notProgressing;
    throwAny([...failures, ...census.failures, ...resized.failures, ...unwritten]);
    return { requeueAfterMs };
  }

  async #withPods(seen: StoresSeen, { patience, ages }: PoolMemory, signal: AbortSignal) {
    const { views, writers, clock, turns, settings } = this.#options;
    const owner = expectationsKey(seen.pool.metadata.namespace, seen.pool.metadata.uid);
    const pending = seen.labelled.filter((one) => writers.expectations.isPendingDeletion(owner, one.metadata.uid));
    const observed: Observed = {
      ...seen,
      now: clock.now(),
      snapshot: writers.expectations.snapshot(owner),
      pendingDeletions: new Set(pending.map(({ metadata }) => metadata.uid)),
      pods: new Map(),
      agesMs: ages.of(seen.labelled),
      readinessGraceMs: (member) => patience.graceMsOf(member),
    };
    const { pods, failures } = await readOverduePods(
      observed,
      { client: writers.client, store: views.pods, turns, stuckMax: settings.maxBatch },
      signal,
    );
    return { observed: { ...observed, pods }, failures };
  }

  #resize(observed: Observed, census: Census, memory: PoolMemory, signal: AbortSignal): Promise<Resized> {
    const { writers, settings } = this.#options;
    const { spec } = observed.pool;
    // Those that are on their way are no loss.
    const count = census.active.length + observed.snapshot.pendingCreations;
    const heldMs = memory.hold.waitMs(count, effectivePoolReplicas(spec));
    const { evictable } = settings;
    const templateKnown = observed.template !== undefined && observed.policyGap === undefined;
    const decided = decideSize({ spec, census, templateKnown, heldMs, maxBatch: census.batchLeft });
    return resize(decided, { observed, memory, writers, evictable }, signal);
  }

  /** Writes the status if it has changed, all of it, so that a zero is written too. */
  async #write(
    pool: Stored<SandboxWarmPool>,
    status: SandboxWarmPoolStatus,
    signal: AbortSignal,
  ): Promise<{ readonly isGone?: boolean; readonly unwritten: readonly unknown[] }> {
    if (semanticallyEqual(pool.status, status)) return { unwritten: [] };
    const { client, pools: store } = this.#options.writers;
    try {
      const result = await patchStatus(pool, status, { client, type: sandboxWarmPoolType, store, signal });
      return { isGone: result === "gone", unwritten: [] };
    } catch (error) {
      signal.throwIfAborted();
      return { unwritten: [error] };
    }
  }

  /** A pool that was deleted and made again under its name is another one. */
  #memoryOf(pool: Stored<SandboxWarmPool>): PoolMemory {
    const key = keyOf(pool);
    const known = this.#memories.get(key);
    if (known?.uid === pool.metadata.uid) return known;
    this.#forget(key);
    const memory = new PoolMemory(pool.metadata.uid, this.#options.settings, this.#options.clock);
    this.#memories.set(key, memory);
    return memory;
  }

  #forget(key: string): Outcome {
    const memory = this.#memories.get(key);
    if (memory) this.#options.writers.expectations.forget(expectationsKey(parseKey(key).namespace, memory.uid));
    this.#memories.delete(key);
    return {};
  }
}

function throwAny(failures: readonly unknown[]): void {
  if (failures.length === 0) return;
  const messages = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
  throw new AggregateError(failures, [...new Set(messages)].join("\n"));
}
