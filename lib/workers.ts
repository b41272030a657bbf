import type { KeyedQueue } from "./keyed-queue.ts";
import { type Running, startTask } from "./lifecycle.ts";

export interface Outcome {
  /** Look again after so many milliseconds, without it counting as a failure. */
  readonly requeueAfterMs?: number;
}

export interface WorkOptions {
  readonly name: string;
  readonly queue: KeyedQueue;
  readonly workers: number;
  /** Brings one key in line; throwing means "try again after a backoff". */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Told about every failure before the key is queued again. */
  readonly onFailure: (key: string, error: unknown) => void;
}

/** Starts the workers of one queue. Disposal lets each finish the key it holds. */
export function startWorkers({ name, queue, workers, reconcile, onFailure }: WorkOptions): Running {
  const worker = async (signal: AbortSignal) => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      try {
        const { requeueAfterMs } = await reconcile(key, signal);
        queue.forget(key);
        if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
      } catch (error) {
        if (signal.aborted) return;
        onFailure(key, error);
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
      }
    }
  };
  return startTask(name, async (signal) => {
    signal.addEventListener("abort", () => queue.close(), { once: true });
    await Promise.all(Array.from({ length: workers }, () => worker(signal)));
  });
}
