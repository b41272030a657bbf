/** Signals changes to one waiter. Changes while it is busy are merged into one. */
export class ChangeSignal {
  #rung = false;
  #waiter: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiter?.();
  }

  /** Clears the signal: the waiter is about to read. */
  reset(): void {
    this.#rung = false;
  }

  /** Resolves at the next signal; at once after a signal since the last reset. One waiter at a time. */
  next(): Promise<void> {
    if (this.#rung) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }
}
