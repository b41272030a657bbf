/** Tells one waiter that something changed since it last looked. Changes while it is busy melt into one. */
export class Bell {
  #rung = false;
  #waiter: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiter?.();
  }

  /** Forgets what has changed so far: the waiter is about to look. */
  reset(): void {
    this.#rung = false;
  }

  /** Resolves at the next ring, or at once when there was one since the last reset. One waiter at a time. */
  next(): Promise<void> {
    if (this.#rung) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }
}
