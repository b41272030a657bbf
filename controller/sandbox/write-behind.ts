import type { Clock } from "../../lib/clock.ts";
import type { WriteBehind } from "./observed.ts";

/** Since when changes of Pods' metadata have been put off. In memory only: after a restart the window begins anew. */
export class WriteBehindWindows {
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(windowMs: number, clock: Clock) {
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  of(key: string): WriteBehind {
    const sinceMs = this.#sinceMs.get(key);
    const waitedMs = sinceMs === undefined ? undefined : this.#clock.ticksMs() - sinceMs;
    return { windowMs: this.#windowMs, waitedMs };
  }

  /** Notes whether a change is put off now. The window of one that was put off before goes on. */
  note(key: string, putOff: boolean): void {
    if (!putOff) this.#sinceMs.delete(key);
    else if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, this.#clock.ticksMs());
  }
}
