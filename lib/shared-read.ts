/**
 * Lets everybody who asks at about the same time share one read. Each gets a read that began after it asked, so what it
 * returns is never older than the question.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Rejects as the read does, for all who share it. */
  get(): Promise<T> {
    if (!this.#running) return this.#start();
    const again = () => this.#start();
    this.#next ??= this.#running.then(again, again);
    return this.#next;
  }

  #start(): Promise<T> {
    this.#next = undefined;
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
