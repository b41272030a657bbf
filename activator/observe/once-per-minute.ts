import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";

const pauseMs = 60_000;
/** Beyond so many the one that asked longest ago may be told again. */
const keysMax = 1_000;

/** Says whether something is worth another line: once a minute for each kind of it. */
export class OncePerMinute {
  readonly #clock: Clock;
  readonly #lastMs = new LRUCache<string, number>({ max: keysMax });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  asks(key: string): boolean {
    const nowMs = this.#clock.ticksMs();
    const lastMs = this.#lastMs.get(key);
    if (lastMs !== undefined && nowMs - lastMs < pauseMs) return false;
    this.#lastMs.set(key, nowMs);
    return true;
  }
}
