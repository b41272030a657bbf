import { abortable } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";

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

/** Waits for a signal, or for that time. Rejects with the reason once `over` is aborted. */
export async function changeWithin(
  changes: Pick<ChangeSignal, "next">,
  longestMs: number,
  clock: Clock,
  over: AbortSignal,
): Promise<void> {
  const step = new AbortController();
  const nothing = () => undefined;
  const timeIsUp = clock.sleep(longestMs, step.signal).then(nothing, nothing);
  try {
    await abortable(Promise.race([changes.next(), timeIsUp]), over);
  } finally {
    step.abort(new Error("checking again"));
  }
}
