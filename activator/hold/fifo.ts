/** A queue in order of arrival. Removal costs the same at every position. */
export class Fifo<T extends object> {
  readonly #members = new Set<T>();
  #front: T | undefined;
  /** Iterates from the front and skips the removed members. */
  #behind: Iterator<T> = this.#members.values();

  get size(): number {
    return this.#members.size;
  }

  /** The member that has waited longest. */
  get first(): T | undefined {
    if (this.#front !== undefined || this.#members.size === 0) return this.#front;
    let next = this.#behind.next();
    if (next.done) {
      this.#behind = this.#members.values(); // the iterator had reached the end before the last members joined
      next = this.#behind.next();
    }
    this.#front = next.value;
    return this.#front;
  }

  join(member: T): void {
    this.#members.add(member);
  }

  leave(member: T): void {
    this.#members.delete(member);
    if (this.#front === member) this.#front = undefined;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#members.values();
  }
}
