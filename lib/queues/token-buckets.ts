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

  /** The number of keys whose bucket is not known to be full. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes a permit, possibly in advance, and returns the milliseconds until it is valid. Takes none and returns
   * undefined if that would be longer than `longestMs`.
   */
  take(key: string, longestMs: number): number | undefined {
    const atMs = this.#clock.ticksMs();
    const filled = this.#tokensOf(key, atMs);
    const waitMs = filled >= 1 ? 0 : ((1 - filled) / this.#rate.perSecond) * 1000;
    if (waitMs > longestMs) return undefined;
    this.#set(key, { tokens: filled - 1, atMs });
    return waitMs;
  }

  /** Takes permits for what has been done already, also more than there are. */
  spend(key: string, permits: number): void {
    const atMs = this.#clock.ticksMs();
    this.#set(key, { tokens: this.#tokensOf(key, atMs) - permits, atMs });
  }

  /** How many permits a key has taken beyond those that it has got. */
  overdraft(key: string): number {
    return Math.max(0, -this.#tokensOf(key, this.#clock.ticksMs()));
  }

  /** Returns a permit that was not needed. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.tokens = Math.min(this.#rate.burst, bucket.tokens + 1);
  }

  #tokensOf(key: string, nowMs: number): number {
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key);
    return bucket ? Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond) : burst;
  }

  #set(key: string, bucket: { tokens: number; atMs: number }): void {
    this.#forgetFull(bucket.atMs);
    this.#buckets.delete(key); // then append it, so that the oldest come first
    this.#buckets.set(key, bucket);
  }

  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate;
    for (const [key, { tokens, atMs }] of this.#buckets) {
      if (tokens + ((nowMs - atMs) / 1000) * perSecond < burst) return;
      this.#buckets.delete(key);
    }
  }
}
