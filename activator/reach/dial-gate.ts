/** Lets so many dial one place at a time, first come first served: a listen queue is short, and a crowd overflows it. */
export class DialGate {
  readonly #limit: number;
  readonly #dialling = new Map<string, number>();
  readonly #queues = new Map<string, (() => void)[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(key);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  #enter(key: string): Promise<void> | undefined {
    const count = this.#dialling.get(key) ?? 0;
    if (count < this.#limit) {
      this.#dialling.set(key, count + 1);
      return undefined;
    }
    return new Promise((resolve) => {
      const queue = this.#queues.get(key) ?? [];
      queue.push(resolve);
      this.#queues.set(key, queue);
    });
  }

  // A place goes straight to the next in line, so that nobody who comes later overtakes.
  #leave(key: string): void {
    const queue = this.#queues.get(key);
    const next = queue?.shift();
    if (queue?.length === 0) this.#queues.delete(key);
    if (next) return next();
    const count = (this.#dialling.get(key) ?? 1) - 1;
    if (count === 0) this.#dialling.delete(key);
    else this.#dialling.set(key, count);
  }
}
