import type { Clock, Timer } from "../../lib/clock.ts";

/** A moment that can be moved nearer, but never further away. */
export class Deadline implements Disposable {
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  #dueMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.shorten(delayMs);
  }

  /** Aborted once the moment has come. */
  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  /** Makes it come after `delayMs` milliseconds, unless it comes sooner. */
  shorten(delayMs: number): void {
    const dueMs = this.#clock.ticksMs() + delayMs;
    if (dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(delayMs, () => this.#expired.abort(new Error("the time is over")));
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
