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

/** A signal until it is disposed of. The listener may notify itself. */
export type Changes = Disposable & Pick<ChangeSignal, "next" | "reset" | "notify">;

/** `listening` is disposed of with it. */
export const changesOf = (signal: ChangeSignal, listening: Disposable): Changes => ({
  next: () => signal.next(),
  reset: () => signal.reset(),
  notify: () => signal.notify(),
  [Symbol.dispose]: () => listening[Symbol.dispose](),
});
