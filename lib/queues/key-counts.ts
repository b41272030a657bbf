/** A count for each key. A key with count 0 uses no memory. */
export class KeyCounts {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, amount = 1): void {
    if (amount > 0) this.#counts.set(key, this.of(key) + amount);
  }

  remove(key: string, amount = 1): void {
    const left = this.of(key) - amount;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }

  /** The key with the highest count; undefined without any. */
  most(): string | undefined {
    let most: string | undefined;
    for (const key of this.#counts.keys()) if (most === undefined || this.of(key) > this.of(most)) most = key;
    return most;
  }

  /** The number of keys with a count of at least one. */
  get size(): number {
    return this.#counts.size;
  }
}
