import type { Clock } from "../time/clock.ts";

export interface UsedTimeLimits {
  /** What a key may use at once, in milliseconds. */
  readonly burstMs: number;
  /** What it gets back in each millisecond, in milliseconds. */
  readonly share: number;
}

/** The time that each key has used lately. A key that has used none for a while takes no memory. */
export class UsedTime {
  readonly #limits: UsedTimeLimits;
  readonly #clock: Clock;
  readonly #used = new Map<string, { usedMs: number; atMs: number }>();

  constructor(limits: UsedTimeLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The number of keys with used time. */
  get size(): number {
    return this.#used.size;
  }

  add(key: string, usedMs: number): void {
    const atMs = this.#clock.ticksMs();
    this.#used.set(key, { usedMs: this.#left(key, atMs) + usedMs, atMs });
    for (const each of this.#used.keys()) if (this.#left(each, atMs) <= 0) this.#used.delete(each);
  }

  /** Whether a key has used more than `burstMs` and has not got it back. */
  isOver(key: string): boolean {
    return this.#left(key, this.#clock.ticksMs()) > this.#limits.burstMs;
  }

  #left(key: string, nowMs: number): number {
    const used = this.#used.get(key);
    return used ? Math.max(0, used.usedMs - (nowMs - used.atMs) * this.#limits.share) : 0;
  }
}
