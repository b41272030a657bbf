/**
 * Signals changes to one waiter. Changes while it is busy are merged into one.
 *
 * A waiter that waits for something else too lets that notify the same signal: a race with a promise that outlives the loop
 * would add a listener to that promise for each change, and tenants cause changes at any rate.
 */
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
