import { onAbort } from "../guard/on-abort.ts";
import type { Clock } from "./clock.ts";

const doNothing = () => {};

/** A wait with a time limit that `notify` ends early. A notification during no wait ends the next wait at once. */
export class NotifiableWait {
  readonly #clock: Clock;
  #notified = false;
  #end: () => void = doNothing;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(): void {
    this.#notified = true;
    this.#end();
  }

  /**
   * Resolves after `limitMs` milliseconds, after `notify`, or once the signal is aborted. Only one caller may
   * wait at a time.
   */
  wait(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        leaving?.[Symbol.dispose]();
        this.#end = doNothing;
        this.#notified = false;
        resolve();
      };
      const timer = this.#clock.after(limitMs, end);
      let leaving: Disposable | undefined;
      if (this.#notified || signal.aborted) return end();
      this.#end = end;
      leaving = onAbort(signal, end);
    });
  }
}
