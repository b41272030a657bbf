import { type Backoff, backoffDelayMs } from "./backoff.ts";
import type { Clock, Timer } from "./clock.ts";

/** Per-key retry after an error: 5 ms doubling to 1000 s, the curve of the ecosystem's own controllers. */
export const retryBackoff: Backoff = { baseMs: 5, maxMs: 1_000_000, jitter: 0.1 };

/** Which keys may wait for others, and how many of them are held at the same time, at most. */
export interface Patience {
  readonly mayWait: (key: string) => boolean;
  readonly heldMax: number;
}

// Of so many keys in a row one is of those that may wait, so that none waits for ever.
const overtakenMax = 16;

interface Delayed {
  readonly dueMs: number;
  readonly timer: Timer;
}

/**
 * Hands out each key to one worker at a time, oldest first, and those that may wait after the others. A key added while
 * a worker holds it is handed out once more afterwards, however many times it was added. It holds keys, never events:
 * whoever takes one looks at the world.
 */
export class KeyedQueue {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #patience: Patience | undefined;
  readonly #ready = new Set<string>();
  /** Those of the ready that may wait. */
  readonly #patient = new Set<string>();
  readonly #held = new Set<string>();
  readonly #heldPatient = new Set<string>();
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #idleWorkers: ((key: string | undefined) => void)[] = [];
  #overtaken = 0;
  #closed = false;

  /** Without a `patience` all keys are alike. */
  constructor(clock: Clock, backoff: Backoff = retryBackoff, patience?: Patience) {
    this.#clock = clock;
    this.#backoff = backoff;
    this.#patience = patience;
  }

  /** Keys that wait for a worker now. */
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

  /** Adds the key after `delayMs` milliseconds. Of several delays for one key the earliest wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) return this.add(key);
    const dueMs = this.#clock.ticksMs() + delayMs;
    const earlier = this.#delayed.get(key);
    if (earlier && earlier.dueMs <= dueMs) return;
    earlier?.timer.cancel();
    const timer = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, timer });
  }

  /** Adds the key after a delay that doubles with each failure since the last `forget`. */
  addRateLimited(key: string): void {
    if (this.#closed) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.addAfter(key, backoffDelayMs(failures, this.#backoff));
  }

  /** Ends the run of failures of a key: it succeeded, or is gone. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Resolves with a key that is the caller's until `done(key)`, or with undefined once the queue is closed. */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve(undefined);
      this.#idleWorkers.push(resolve);
      this.#dispatch();
    });
  }

  done(key: string): void {
    this.#held.delete(key);
    this.#heldPatient.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else this.#dispatch();
  }

  /** Wakes every idle worker with undefined and drops what waits. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#patient.clear();
    for (const worker of this.#idleWorkers.splice(0)) worker(undefined);
  }

  #dispatch(): void {
    while (this.#idleWorkers.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#held.add(key);
      this.#idleWorkers.shift()?.(key);
    }
  }

  /** Takes the oldest key, of those that may not wait if there is one. */
  #next(): string | undefined {
    const [urgent] = this.#ready;
    const [patient] = this.#heldPatient.size < (this.#patience?.heldMax ?? 0) ? this.#patient : [];
    if (urgent !== undefined && (patient === undefined || this.#overtaken < overtakenMax)) {
      this.#ready.delete(urgent);
      if (patient !== undefined) this.#overtaken += 1;
      return urgent;
    }
    if (patient === undefined) return undefined;
    this.#patient.delete(patient);
    this.#heldPatient.add(patient);
    this.#overtaken = 0;
    return patient;
  }
}
