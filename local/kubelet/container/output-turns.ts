import { FairLine } from "../../../lib/data/fair-line.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";

/** Each takes about a millisecond with the shortest lines. */
const piecesInOneTurn = 2;

/**
 * Runs pieces of work on the output of containers, a few in each turn of the event loop, however many containers print. The logs take turns.
 * A process has one event loop, so all logs share one instance.
 */
export class OutputTurns {
  readonly #waiting = new FairLine<() => void>();
  #isScheduled = false;

  /** `log`: whose piece it is. */
  add(log: string, piece: () => void): void {
    this.#waiting.add(log, piece);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (let count = 0; count < piecesInOneTurn; count += 1) {
        const piece = this.#waiting.take();
        if (piece) runGuarded("kubelet", piece);
      }
      this.#schedule();
    });
  }
}
