import { FairLine } from "../data/fair-line.ts";
import { onAbort } from "../guard/on-abort.ts";
import { WorkerShares } from "./worker-shares.ts";

/** It is free again once it is disposed of. */
export interface Place extends Disposable {
  /** Whether it is one of the last ones: all others were held. */
  readonly isLast: boolean;
}

/** A limited number of places, which groups share as `WorkerShares` says; the groups that wait for one take turns. */
export class SharedPlaces {
  readonly #shares: WorkerShares;
  readonly #waiting = new FairLine<() => void>();
  /** How many are free but for the last ones. */
  #firstFree: number;

  /** `shared` of `places` are the last ones: a group alone gets the others. */
  constructor(places: number, shared: number) {
    this.#shares = new WorkerShares(places, { shared });
    this.#firstFree = places - shared;
  }

  /** Resolves with a place; rejects with the signal's reason if that is aborted first. Only the signal limits the wait. */
  async take(group: string, signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    // Who waits may not hold one: each free place was offered to all that wait.
    return this.#shares.mayHold(group) ? this.#hold(group) : await this.#turn(group, signal);
  }

  #hold(group: string): Place {
    const isLast = this.#firstFree === 0;
    if (!isLast) this.#firstFree -= 1;
    this.#shares.hold(group);
    return {
      isLast,
      [Symbol.dispose]: () => {
        if (!isLast) this.#firstFree += 1;
        this.#shares.release(group);
        this.#dispatch();
      },
    };
  }

  #turn(group: string, signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        leaving[Symbol.dispose]();
        resolve(this.#hold(group));
      };
      const leaving = onAbort(signal, () => {
        this.#waiting.delete(group, enter);
        reject(signal.reason);
      });
      this.#waiting.add(group, enter);
    });
  }

  #dispatch(): void {
    while (!this.#shares.isFull) {
      const enter = this.#waiting.take((group) => this.#shares.mayHold(group));
      if (!enter) return;
      enter();
    }
  }
}
