import { KeyCounts } from "./key-counts.ts";

/** The part of the workers that no namespace gets while it has many of the others. */
const sharedPart = 0.25;

export interface SharesLimits {
  /** The last ones, of which a group gets one only while it holds fewer than are free. Absent: a quarter. */
  readonly shared?: number;
  /** The maximum of one group; absent: none but the shares. */
  readonly maxOfGroup?: number | undefined;
}

/**
 * How the namespaces share a number of places, such as the workers of a queue. A namespace gets one of the last places only
 * while it holds fewer than are free. So one that fills all others leaves these to the next one, and that one leaves half of them.
 */
export class WorkerShares {
  readonly #workers: number;
  readonly #shared: number;
  readonly #maxOfGroup: number;
  readonly #heldBy = new KeyCounts();
  #held = 0;

  constructor(workers: number, { shared, maxOfGroup }: SharesLimits = {}) {
    this.#workers = workers;
    this.#shared = shared ?? Math.floor(workers * sharedPart);
    this.#maxOfGroup = maxOfGroup ?? Number.POSITIVE_INFINITY;
  }

  mayHold(group: string): boolean {
    const free = this.#workers - this.#held;
    const held = this.#heldBy.of(group);
    return held < this.#maxOfGroup && (free > this.#shared || held < free);
  }

  /** Whether none is free, and so no group may hold another one. */
  get isFull(): boolean {
    return this.#held >= this.#workers;
  }

  hold(group: string): void {
    this.#held += 1;
    this.#heldBy.add(group);
  }

  release(group: string): void {
    this.#held -= 1;
    this.#heldBy.remove(group);
  }
}
