/**
 * Shares one read among concurrent callers. Each gets a read that began after its call, so the result is never older
 * than the call.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Rejects with the error of the read, for all callers that share it. */
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
