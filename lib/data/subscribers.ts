import { reportUnexpected } from "../guard/guard.ts";

/** Listeners, each until the result of `add` is disposed. */
export class Subscribers<News = void> {
  readonly #listeners = new Set<(news: News) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (news: News) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Notifies listeners in the order of their registration. An error of a listener is reported, and the others are
   * notified all the same.
   */
  tell(news: News): void {
    for (const listener of this.#listeners) {
      try {
        listener(news);
      } catch (error) {
        reportUnexpected("subscriber", error);
      }
    }
  }
}
