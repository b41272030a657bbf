/** A link of a list; it is in one list at most. */
export class Link<T> {
  readonly value: T;
  list: IdleList<T> | undefined;
  older: Link<T> | undefined;
  newer: Link<T> | undefined;

  constructor(value: T) {
    this.value = value;
  }

  /** Removes itself from its list, if any. */
  leave(): void {
    this.list?.remove(this);
  }
}

/** Idle items, oldest first. Every operation takes constant time and allocates nothing. */
export class IdleList<T> {
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): Link<T> | undefined {
    return this.#oldest;
  }

  /** The value that is closed beyond a limit. */
  get next(): T | undefined {
    return this.#oldest?.value;
  }

  get newest(): Link<T> | undefined {
    return this.#newest;
  }

  /** Makes it the newest of this list. */
  join(link: Link<T>): void {
    link.leave();
    link.list = this;
    link.older = this.#newest;
    if (this.#newest) this.#newest.newer = link;
    else this.#oldest = link;
    this.#newest = link;
    this.#size += 1;
  }

  /** Removes a link of this list. */
  remove(link: Link<T>): void {
    const { older, newer } = link;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    link.list = undefined;
    link.older = undefined;
    link.newer = undefined;
    this.#size -= 1;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let link = this.#oldest; link; ) {
      const next = link.newer; // before the caller removes this link
      yield link.value;
      link = next;
    }
  }
}
