import type { Clock } from "../time/clock.ts";

export interface Rate {
  readonly perSecond: number;
  /** The number of permits available at once after an idle time. */
  readonly burst: number;
}

/** One bucket of permits for each key. A key whose bucket is full again uses no memory. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /**
   * Takes a permit, possibly in advance, and returns the milliseconds until it is valid. Takes none and returns
   * undefined if that would be longer than `longestMs`.
   */
  take(key: string, longestMs: number): number | undefined {
    const { perSecond, burst } = this.#rate;
    const atMs = this.#clock.ticksMs();
    this.#forgetFull(atMs);
    const bucket = this.#buckets.get(key);
    const filled = bucket ? Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1000) * perSecond) : burst;
    const waitMs = filled >= 1 ? 0 : ((1 - filled) / perSecond) * 1000;
    if (waitMs > longestMs) return undefined;
    this.#buckets.delete(key); // then append it, so that the oldest come first
    this.#buckets.set(key, { tokens: filled - 1, atMs });
    return waitMs;
  }

  /** Returns a permit that was not needed. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.tokens = Math.min(this.#rate.burst, bucket.tokens + 1);
  }

  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate;
    for (const [key, { tokens, atMs }] of this.#buckets) {
      if (tokens + ((nowMs - atMs) / 1000) * perSecond < burst) return;
      this.#buckets.delete(key);
    }
  }
}
