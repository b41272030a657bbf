import { groupOf } from "./fair-keys.ts";
import { KeyCounts } from "./key-counts.ts";

/** The part of the workers that no namespace gets while it has many of the others. */
const sharedPart = 0.25;

/**
 * How the namespaces share the workers of a queue. A namespace gets one of the last quarter only while it holds fewer than
 * are free. So one that fills the queue leaves a quarter to the next one, and that one leaves half of the rest.
 */
export class WorkerShares {
  readonly #workers: number;
  readonly #heldBy = new KeyCounts();
  #held = 0;

  constructor(workers: number) {
    this.#workers = workers;
  }

  mayHold(group: string): boolean {
    const free = this.#workers - this.#held;
    const shared = Math.floor(this.#workers * sharedPart);
    return free > shared || this.#heldBy.of(group) < free;
  }

  /** A worker has begun with this key. */
  hold(key: string): void {
    this.#held += 1;
    this.#heldBy.add(groupOf(key));
  }

  release(key: string): void {
    this.#held -= 1;
    this.#heldBy.remove(groupOf(key));
  }
}
