import { reportUnexpected } from "../guard/guard.ts";

/** Listeners, each until the result of `add` is disposed. */
export class Subscribers<Update = void> {
  readonly #listeners = new Set<(update: Update) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (update: Update) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Notifies listeners in the order of their registration. An error of a listener is reported, and the others are
   * notified all the same.
   */
  notify(update: Update): void {
    for (const listener of this.#listeners) {
      try {
        listener(update);
      } catch (error) {
        reportUnexpected("subscriber", error);
      }
    }
  }
}
