import { onAbort } from "../../lib/guard/on-abort.ts";

/** Limits the number of concurrent dials to one place, in order of arrival: a listen queue is short, and a crowd overflows it. */
export class DialGate {
  readonly #limit: number;
  readonly #dialling = new Map<string, number>();
  readonly #queues = new Map<string, Set<() => void>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws the signal's reason if it is aborted before a dial may begin. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(key, signal);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  #enter(key: string, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    const count = this.#dialling.get(key) ?? 0;
    if (count < this.#limit) {
      this.#dialling.set(key, count + 1);
      return undefined;
    }
    const queue = this.#queues.get(key) ?? new Set();
    this.#queues.set(key, queue);
    return new Promise((resolve, reject) => {
      const enter = () => {
        leaving[Symbol.dispose]();
        resolve();
      };
      const leaving = onAbort(signal, () => {
        queue.delete(enter);
        if (queue.size === 0) this.#queues.delete(key);
        reject(signal.reason);
      });
      queue.add(enter);
    });
  }

  // The turn goes directly to the next in line, so that no later caller overtakes.
  #leave(key: string): void {
    const queue = this.#queues.get(key);
    const [next] = queue ?? [];
    if (queue && next) {
      queue.delete(next);
      if (queue.size === 0) this.#queues.delete(key);
      return next();
    }
    const count = (this.#dialling.get(key) ?? 1) - 1;
    if (count === 0) this.#dialling.delete(key);
    else this.#dialling.set(key, count);
  }
}
