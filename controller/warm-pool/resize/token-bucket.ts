import type { Clock } from "../../../lib/time/clock.ts";

// Time times rate may fall short of a whole token by the last bit of a double.
const rounding = 1e-9;

export interface Grant {
  readonly granted: number;
  /** When nothing was granted: milliseconds until something will be. */
  readonly nextMs?: number;
}

/** Lets so many things happen per second, and in a burst at most what one second gives. It starts full. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledMs: number;

  /** 0 per second: without limit. */
  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#tokens = this.#capacity;
    this.#filledMs = clock.ticksMs();
  }

  get #capacity(): number {
    return Math.max(1, this.#perSecond);
  }

  take(wanted: number): Grant {
    if (this.#perSecond === 0 || wanted <= 0) return { granted: Math.max(0, wanted) };
    this.#fill();
    const granted = Math.min(wanted, Math.floor(this.#tokens + rounding));
    this.#tokens -= granted;
    if (granted > 0) return { granted };
    return { granted, nextMs: Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1_000 - rounding) };
  }

  /** What was granted and not used. */
  giveBack(count: number): void {
    this.#tokens = Math.min(this.#capacity, this.#tokens + count);
  }

  #fill(): void {
    const nowMs = this.#clock.ticksMs();
    const accrued = ((nowMs - this.#filledMs) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#capacity, this.#tokens + accrued);
    this.#filledMs = nowMs;
  }
}
