/** Signals changes to one waiter. Changes while it is busy are merged into one. */
export class ChangeSignal {
  #notified = false;
  #waiter: (() => void) | undefined;

  notify(): void {
    this.#notified = true;
    this.#waiter?.();
  }

  /** Clears the signal: the waiter is about to read. */
  reset(): void {
    this.#notified = false;
  }

  /** Resolves at the next signal; at once after a signal since the last reset. One waiter at a time. */
  next(): Promise<void> {
    if (this.#notified) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }
}
