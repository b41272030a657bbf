import { runGuarded } from "../guard/guard.ts";
import { onAbort } from "../guard/on-abort.ts";
import { type Running, startTask } from "../process/lifecycle.ts";
import type { Turns } from "../time/turns.ts";
import { groupOf } from "./fair-keys.ts";
import type { KeyedQueue } from "./keyed-queue.ts";

export interface Outcome {
  /** Reconcile again after this number of milliseconds, without counting a failure. */
  readonly requeueAfterMs?: number | undefined;
  /**
   * The pass has stopped half-way, and another one goes on when it is added. So it is no success: the failures of the key
   * and the delays from before stay.
   */
  readonly isInterrupted?: boolean;
  /** What the pass asked for was rejected, and `requeueAfterMs` says when it is asked for again. */
  readonly isRejected?: boolean;
}

export interface WorkOptions {
  readonly name: string;
  readonly queue: KeyedQueue;
  readonly workers: number;
  /** Reconciles one key; an error means a retry with backoff. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Called for every failure before the key is queued again. */
  readonly onFailure: (key: string, error: unknown) => void;
  /**
   * Other work of the process gets its turn between two keys, in groups by namespace; absent: after a number of keys, also
   * if no pass awaits anything.
   */
  readonly turns?: Turns | undefined;
}

/** Starts the workers of one queue. Disposing lets each finish its current key. */
export function startWorkers({ name, queue, workers, reconcile, onFailure, turns }: WorkOptions): Running {
  const own = new CountedTurns();
  const worker = async (signal: AbortSignal) => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      try {
        await (turns ? turns.rest(groupOf(key), "begins") : own.rest());
        const { requeueAfterMs, isInterrupted = false, isRejected = false } = await reconcile(key, signal);
        // A delay that the queue rejects is a failure of the pass, so the key waits longer each time.
        if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
        if (isRejected) queue.rejected(key);
        else if (!isInterrupted) queue.forget(key);
      } catch (error) {
        if (signal.aborted) return;
        runGuarded("queue", () => onFailure(key, error));
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
      }
    }
  };
  return startTask(name, async (signal) => {
    onAbort(signal, () => queue.close());
    await Promise.all(Array.from({ length: workers }, () => worker(signal)));
  });
}

/** The number of passes in one turn of the event loop. */
const passesInOneTurn = 64;

/** Promises that resolve at once would keep all timers and sockets from their turn. A key that is added without end would do so for ever. */
class CountedTurns {
  #passes = 0;

  /** Resolves in a later turn of the event loop once this one has had its passes. */
  async rest(): Promise<void> {
    if (this.#passes === 0) setImmediate(() => (this.#passes = 0));
    this.#passes += 1;
    while (this.#passes > passesInOneTurn) await new Promise((resolve) => setImmediate(resolve));
  }
}
