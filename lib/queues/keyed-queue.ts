import type { Clock, Timer } from "../time/clock.ts";
import { type Backoff, backoffDelayMs } from "./backoff.ts";
import { FairKeys, groupOf } from "./fair-keys.ts";
import { EarlyRetries } from "./retries/early-retries.ts";
import { FailureCounts } from "./retries/failure-counts.ts";
import { backoffOf, type RetryCeiling } from "./retries/retry-delays.ts";
import { WorkerShares } from "./worker-shares.ts";

/** Per-key retry after an error: 5 ms doubling to 1000 s, as in the ecosystem's own controllers. */
export const retryBackoff: Backoff = { baseMs: 5, maxMs: 1_000_000, jitter: 0.1 };

/** Selects low-priority keys, and limits the number of them in progress. */
export interface Patience {
  readonly mayWait: (key: string) => boolean;
  /** Of one namespace; there is room for a quarter more, for those of others. */
  readonly heldMax: number;
}

const sparePatientPart = 0.25;

export interface QueueOptions {
  /** Absent: no key has low priority. */
  readonly patience?: Patience | undefined;
  /** Absent: all keys are retried alike. */
  readonly retries?: RetryCeiling | undefined;
  /** The number of workers, which namespaces share; absent: one namespace may have all of them. */
  readonly workers?: number | undefined;
  /** The maximum of workers of one namespace; absent: none but its share. */
  readonly workersOfGroup?: number | undefined;
}

// One of this number of keys is a low-priority one, so that none waits for ever.
const overtakenMax = 16;

interface Delayed {
  readonly dueMs: number;
  readonly timer: Timer;
}

/**
 * Gives each key to one worker at a time, low-priority keys last. In both classes the namespaces (the part of a key
 * before the first slash) take turns, and in each the oldest key comes first. A key that is added while a worker has it
 * is given out once more afterwards, however often it was added. The queue holds keys, never events: a worker reads the
 * current state.
 */
export class KeyedQueue {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #patience: Patience | undefined;
  readonly #ready = new FairKeys();
  /** The ready keys of low priority. */
  readonly #patient = new FairKeys();
  readonly #held = new Set<string>();
  readonly #heldPatient = new Set<string>();
  readonly #again = new Set<string>();
  readonly #againUnlessFailed = new Map<string, () => void>();
  readonly #againForOther = new Map<string, () => void>();
  /** Keys whose last pass was rejected. */
  readonly #rejected = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  /** Delays that were set before the current pass of their key: a successful pass replaces them. */
  readonly #fromBefore = new Map<string, Delayed>();
  readonly #retries: RetryCeiling | undefined;
  readonly #early: EarlyRetries | undefined;
  readonly #failures: FailureCounts;
  readonly #idleWorkers: ((key: string | undefined) => void)[] = [];
  readonly #shares: WorkerShares;
  /** Of the low-priority keys in progress. */
  readonly #patientShares: WorkerShares;
  #overtaken = 0;
  #closed = false;

  constructor(
    clock: Clock,
    backoff: Backoff = retryBackoff,
    { patience, retries, workers = Number.POSITIVE_INFINITY, workersOfGroup }: QueueOptions = {},
  ) {
    this.#clock = clock;
    this.#backoff = backoff;
    this.#patience = patience;
    this.#retries = retries;
    this.#early = retries && new EarlyRetries(retries, clock);
    this.#shares = new WorkerShares(workers, { maxOfGroup: workersOfGroup });
    const patientMax = patience?.heldMax ?? 0;
    const shared = Math.ceil(patientMax * sparePatientPart);
    this.#patientShares = new WorkerShares(patientMax + shared, { shared, maxOfGroup: patientMax });
    this.#failures = new FailureCounts(retries?.groupOf ?? (() => ""));
  }

  /** The number of keys that wait for a worker. */
  get depth(): number {
    return this.#ready.size + this.#patient.size;
  }

  add(key: string): void {
    if (this.#closed) return;
    if (this.#held.has(key)) this.#again.add(key);
    else if (!this.#patience?.mayWait(key)) {
      this.#patient.delete(key);
      this.#ready.add(key);
    } else if (!this.#ready.has(key)) this.#patient.add(key);
    this.#dispatch();
  }

  /**
   * Adds the key for what its own pass may have done. If that pass failed, only its delay counts: a failed pass that writes what
   * went wrong would else cause the next one, without a pause. While a worker has the key, the end of the pass decides. Calls back
   * if it is added.
   */
  addUnlessFailed(key: string, onAdded: () => void = () => {}): void {
    if (this.#closed) return;
    if (this.#held.has(key)) this.#againUnlessFailed.set(key, onAdded);
    else if (!this.#awaitsRetry(key)) this.#addAndTell(key, onAdded);
  }

  /**
   * Adds the key for an event about another object, which may be what it has waited for. If its last pass failed, the event brings the
   * retry forward, but only at the rate of retries. Calls back if the key is added at once.
   */
  addForOther(key: string, onAdded: () => void = () => {}): void {
    if (this.#closed) return;
    if (this.#held.has(key)) this.#againForOther.set(key, onAdded);
    else if (!this.#early || !this.#awaitsRetry(key)) this.#addAndTell(key, onAdded);
    else {
      const leftMs = (this.#delayed.get(key)?.dueMs ?? 0) - this.#clock.ticksMs();
      this.#early.take(key, leftMs, (waitMs) => this.addAfter(key, waitMs));
    }
  }

  #addAndTell(key: string, onAdded: () => void): void {
    onAdded();
    this.add(key);
  }

  #awaitsRetry(key: string): boolean {
    return this.#delayed.has(key) && (this.#failures.of(key) > 0 || this.#rejected.has(key));
  }

  /**
   * Adds the key after `delayMs` milliseconds; 0 and less means now. Of several delays for one key the earliest wins.
   *
   * @throws RangeError when the delay is not a finite number: a timer would treat it as 0.
   */
  addAfter(key: string, delayMs: number): void {
    if (!Number.isFinite(delayMs)) throw new RangeError(`a delay must be a finite number of milliseconds: ${delayMs}`);
    if (this.#closed) return;
    if (delayMs <= 0) return this.add(key);
    const dueMs = this.#clock.ticksMs() + delayMs;
    const earlier = this.#delayed.get(key);
    if (earlier && earlier.dueMs <= dueMs) return;
    earlier?.timer.cancel();
    const timer = this.#clock.after(delayMs, () => {
      for (const delays of [this.#delayed, this.#fromBefore]) {
        if (delays.get(key) === delayed) delays.delete(key);
      }
      this.add(key);
    });
    const delayed: Delayed = { dueMs, timer };
    this.#delayed.set(key, delayed);
  }

  /**
   * Adds every delayed key now: the clock on which their delays were based has jumped. A pass that runs may have read the
   * clock before it jumped, so its key is given out once more afterwards.
   */
  addAllDelayed(): void {
    const held = [...this.#held];
    for (const [key, { timer }] of [...this.#delayed]) {
      timer.cancel();
      this.#delayed.delete(key);
      this.add(key);
    }
    for (const key of held) this.add(key);
  }

  /** Adds the key after a delay that doubles with each failure since the last `forget`. */
  addRateLimited(key: string): void {
    if (this.#closed) return;
    const failures = this.#failures.add(key);
    const backoff = this.#retries ? backoffOf(key, this.#backoff, this.#failures, this.#retries) : this.#backoff;
    this.addAfter(key, backoffDelayMs(failures, backoff));
  }

  /**
   * The current pass of the key succeeded: its consecutive failures end, and so do the delays from before that pass.
   * Additions since the start of the pass stay. A deleted key leaves nothing behind.
   */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#rejected.delete(key);
    this.#fromBefore.get(key)?.timer.cancel();
    this.#fromBefore.delete(key);
  }

  /** The current pass of the key ended with a delay of its own, but it is no success: what it asked for was rejected. */
  rejected(key: string): void {
    this.forget(key);
    this.#rejected.add(key);
  }

  failures(key: string): number {
    return this.#failures.of(key);
  }

  /** Resolves with a key, which belongs to the caller until `done(key)`, or with undefined once the queue is closed. */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(undefined);
      this.#idleWorkers.push(resolve);
      this.#dispatch();
    });
  }

  done(key: string): void {
    if (this.#held.delete(key)) this.#shares.release(groupOf(key));
    if (this.#heldPatient.delete(key)) this.#patientShares.release(groupOf(key));
    this.#keepFromBefore(key);
    const onAdded = this.#againUnlessFailed.get(key);
    this.#againUnlessFailed.delete(key);
    const onAddedForOther = this.#againForOther.get(key);
    this.#againForOther.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else if (onAdded && !this.#awaitsRetry(key)) this.#addAndTell(key, onAdded);
    else if (onAddedForOther) this.addForOther(key, onAddedForOther);
    this.#dispatch();
  }

  /** Resolves every idle worker with undefined and drops waiting keys. */
  close(): void {
    this.#closed = true;
    this.#early?.close();
    for (const delays of [this.#delayed, this.#fromBefore]) {
      for (const { timer } of delays.values()) timer.cancel();
      delays.clear();
    }
    this.#ready.clear();
    this.#patient.clear();
    for (const worker of this.#idleWorkers.splice(0)) worker(undefined);
  }

  /** A failed pass has replaced nothing: the earlier one of its own delay and the one from before stays. */
  #keepFromBefore(key: string): void {
    const before = this.#fromBefore.get(key);
    if (!before) return;
    this.#fromBefore.delete(key);
    const since = this.#delayed.get(key);
    if (since && since.dueMs <= before.dueMs) return before.timer.cancel();
    since?.timer.cancel();
    this.#delayed.set(key, before);
  }

  #dispatch(): void {
    while (this.#idleWorkers.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#held.add(key);
      this.#early?.begun(key);
      this.#shares.hold(groupOf(key));
      const before = this.#delayed.get(key);
      if (before) this.#fromBefore.set(key, before);
      this.#delayed.delete(key);
      this.#idleWorkers.shift()?.(key);
    }
  }

  /** Removes and returns the next key whose namespace may have another worker, low-priority keys last. */
  #next(): string | undefined {
    const isPatientsTurn = this.#mayTakePatient() && this.#overtaken >= overtakenMax;
    return isPatientsTurn ? (this.#nextPatient() ?? this.#nextReady()) : (this.#nextReady() ?? this.#nextPatient());
  }

  #mayTakePatient(): boolean {
    return this.#patient.size > 0 && !this.#patientShares.isFull;
  }

  #nextReady(): string | undefined {
    const key = this.#ready.take((group) => this.#shares.mayHold(group));
    if (key !== undefined && this.#mayTakePatient()) this.#overtaken += 1;
    return key;
  }

  #nextPatient(): string | undefined {
    if (!this.#mayTakePatient()) return undefined;
    const key = this.#patient.take((group) => this.#shares.mayHold(group) && this.#patientShares.mayHold(group));
    if (key === undefined) return undefined;
    this.#heldPatient.add(key);
    this.#patientShares.hold(groupOf(key));
    this.#overtaken = 0;
    return key;
  }
}
