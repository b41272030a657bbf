import type { Clock, Timer } from "../../../lib/time/clock.ts";

/** A deadline that can be moved earlier, but not later. */
export class Deadline implements Disposable {
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  #dueMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.shorten(delayMs);
  }

  /** Aborted at the deadline. */
  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  /** Moves the deadline to `delayMs` milliseconds from now, unless it is earlier. */
  shorten(delayMs: number): void {
    const dueMs = this.#clock.ticksMs() + delayMs;
    if (dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(delayMs, () => this.#expired.abort(new Error("the deadline has passed")));
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
