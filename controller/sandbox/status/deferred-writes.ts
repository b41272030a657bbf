import type { Clock } from "../../../lib/time/clock.ts";

/**
 * The time since which writes of one kind have been deferred, by sandbox. In memory only: a restart starts the time
 * anew.
 */
export class DeferredWrites {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds for which a write has been deferred; undefined: none is. */
  waitedMs(key: string): number | undefined {
    const sinceMs = this.#sinceMs.get(key);
    return sinceMs === undefined ? undefined : this.#clock.ticksMs() - sinceMs;
  }

  /** Records whether a write is deferred now. A write that was already deferred keeps its start time. */
  note(key: string, putOff: boolean): void {
    if (!putOff) this.#sinceMs.delete(key);
    else if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, this.#clock.ticksMs());
  }
}
