/** Those who wait, in the order in which they came; leaving it costs the same from everywhere. */
export class Line<T extends object> {
  readonly #members = new Set<T>();
  #front: T | undefined;
  /** Has passed over everybody before the front. */
  #behind: Iterator<T> = this.#members.values();

  get size(): number {
    return this.#members.size;
  }

  /** Who has waited longest. */
  get first(): T | undefined {
    if (this.#front !== undefined || this.#members.size === 0) return this.#front;
    let next = this.#behind.next();
    if (next.done) {
      this.#behind = this.#members.values(); // it had come to the end before the last ones joined
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
