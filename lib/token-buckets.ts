import type { Clock } from "./clock.ts";

export interface Rate {
  readonly perSecond: number;
  /** So many may come at once after a quiet time. */
  readonly burst: number;
}

/** One bucket of permits for each key. A key that has been quiet until its bucket is full again costs no memory. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /**
   * Takes a permit, in advance if it must be, and says after how many milliseconds it holds. Takes none and says
   * undefined when that would be longer than `longestMs`.
   */
  take(key: string, longestMs: number): number | undefined {
    const { perSecond, burst } = this.#rate;
    const atMs = this.#clock.ticksMs();
    this.#forgetFull(atMs);
    const bucket = this.#buckets.get(key);
    const filled = bucket ? Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1000) * perSecond) : burst;
    const waitMs = filled >= 1 ? 0 : ((1 - filled) / perSecond) * 1000;
    if (waitMs > longestMs) return undefined;
    this.#buckets.delete(key); // and to the end, so that the oldest come first
    this.#buckets.set(key, { tokens: filled - 1, atMs });
    return waitMs;
  }

  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate;
    for (const [key, { tokens, atMs }] of this.#buckets) {
      if (tokens + ((nowMs - atMs) / 1000) * perSecond < burst) return;
      this.#buckets.delete(key);
    }
  }
}
