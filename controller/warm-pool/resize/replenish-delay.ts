import type { Clock } from "../../../lib/time/clock.ts";

/**
 * Waits after a pool has shrunk, so that a burst of claims is over before the places that it leaves are filled. Each
 * further loss restarts the wait; a pool that is first seen, and one that is full, do not wait.
 */
export class ReplenishDelay {
  readonly #delayMs: number;
  readonly #clock: Clock;
  #lastCount: number | undefined;
  #endsMs: number | undefined;

  /** A delay of 0 never holds. */
  constructor(delayMs: number, clock: Clock) {
    this.#delayMs = delayMs;
    this.#clock = clock;
  }

  /** Notes how many members there are, those on their way included; returns for how many milliseconds to wait. */
  waitMs(count: number, desired: number): number {
    const shrunk = this.#lastCount !== undefined && count < this.#lastCount;
    this.#lastCount = count;
    if (count >= desired) this.#endsMs = undefined;
    else if (shrunk && this.#delayMs > 0) this.#endsMs = this.#clock.ticksMs() + this.#delayMs;
    return Math.max(0, (this.#endsMs ?? 0) - this.#clock.ticksMs());
  }

  /** Members that were created since the last call: to lose one of them again is a loss too. */
  made(count: number): void {
    this.#lastCount = (this.#lastCount ?? 0) + count;
  }
}
