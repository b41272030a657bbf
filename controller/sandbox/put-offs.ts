import type { Clock } from "../../lib/clock.ts";

/** Since when writes of one kind have been put off, by sandbox. In memory only: after a restart the time begins anew. */
export class PutOffs {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For how many milliseconds one has waited; undefined: none is. */
  waitedMs(key: string): number | undefined {
    const sinceMs = this.#sinceMs.get(key);
    return sinceMs === undefined ? undefined : this.#clock.ticksMs() - sinceMs;
  }

  /** Notes whether a write is put off now. The time of one that was put off before goes on. */
  note(key: string, putOff: boolean): void {
    if (!putOff) this.#sinceMs.delete(key);
    else if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, this.#clock.ticksMs());
  }
}
