import { onAbort } from "../guard/on-abort.ts";
import type { Clock } from "./clock.ts";

/** Ends a rest early. A ring without a rest ends the next rest at once. */
export class Bell {
  readonly #clock: Clock;
  #rung = false;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /**
   * Resolves after `limitMs` milliseconds, at a ring, or once the signal is aborted. Only one caller may rest at a
   * time.
   */
  rest(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        leaving?.[Symbol.dispose]();
        this.#wake = () => {};
        this.#rung = false;
        resolve();
      };
      const timer = this.#clock.after(limitMs, end);
      let leaving: Disposable | undefined;
      if (this.#rung || signal.aborted) return end();
      this.#wake = end;
      leaving = onAbort(signal, end);
    });
  }
}
