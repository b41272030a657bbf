import type { Clock } from "../../lib/time/clock.ts";

/** The limits of one try to remove a folder. A program may write into it faster than it is emptied, and for ever. */
export interface RemovalLimits {
  readonly limitMs: number;
  /** Also the maximum of the paths in memory. */
  readonly entriesMax: number;
}

export const removalLimits: RemovalLimits = { limitMs: 60_000, entriesMax: 1_000_000 };

/** A try has reached a limit. */
export class RemovalUnfinished extends Error {
  override readonly name = "RemovalUnfinished";
}

/** Counts the steps of one try. */
export class RemovalBudget {
  readonly #clock: Clock;
  readonly #limits: RemovalLimits;
  readonly #endMs: number;
  #entries = 0;

  constructor(clock: Clock, limits: RemovalLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#endMs = clock.ticksMs() + limits.limitMs;
  }

  /** @throws RemovalUnfinished instead of a step beyond a limit. */
  spend(): void {
    const { limitMs, entriesMax } = this.#limits;
    this.#entries += 1;
    if (this.#entries > entriesMax) throw new RemovalUnfinished(`not removed after ${entriesMax} files and folders`);
    if (this.#clock.ticksMs() >= this.#endMs) throw new RemovalUnfinished(`not removed after ${limitMs / 1_000} s`);
  }
}
