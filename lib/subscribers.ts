/** Who wants to hear of something, each until what `add` returned is disposed of. */
export class Subscribers<News = void> {
  readonly #listeners = new Set<(news: News) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (news: News) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** In the order in which they came. Who fails keeps the news from those behind, and fails the teller. */
  tell(news: News): void {
    for (const listener of this.#listeners) listener(news);
  }
}
