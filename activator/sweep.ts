import type { Clock, Timer } from "../lib/clock.ts";

/** Something that has a limit in time and is asked about it now and then. */
export interface Watched {
  /** Its place in the sweep, which keeps it; -1 while it is in none. */
  sweepIndex: number;
  check(nowMs: number): void;
}

/** Limits on the data path are seconds; being late by so much harms none of them. */
const stepMs = 100;

/**
 * Looks at everything that has a limit in time, in steps: setting and moving a limit is then an assignment, where a
 * timer for each request would cost as much as reading its head. No timer runs while there is nothing to watch.
 */
export class Sweep implements Disposable {
  readonly #clock: Clock;
  readonly #watched: Watched[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#watched.length;
  }

  add(watched: Watched): void {
    if (watched.sweepIndex >= 0) return;
    watched.sweepIndex = this.#watched.push(watched) - 1;
    this.#timer ??= this.#clock.after(stepMs, () => this.#step());
  }

  remove(watched: Watched): void {
    const index = watched.sweepIndex;
    if (index < 0) return;
    watched.sweepIndex = -1;
    const last = this.#watched.pop();
    if (last && last !== watched) {
      this.#watched[index] = last;
      last.sweepIndex = index;
    }
    if (this.#watched.length === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #step(): void {
    this.#timer = this.#clock.after(stepMs, () => this.#step());
    const nowMs = this.#clock.ticksMs();
    // Backwards: what leaves during the sweep is replaced by one that was asked already.
    for (let index = this.#watched.length - 1; index >= 0; index -= 1) this.#watched[index]?.check(nowMs);
  }
}
