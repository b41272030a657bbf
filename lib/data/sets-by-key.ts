const nothing: ReadonlySet<never> = new Set();

/** A set of values for each key; a key with an empty set is removed. */
export class SetsByKey<V> {
  readonly #sets = new Map<string, Set<V>>();

  /** The number of keys with values. */
  get size(): number {
    return this.#sets.size;
  }

  /** Disposing removes the value. */
  add(key: string, value: V): Disposable {
    const values = this.#sets.get(key) ?? new Set();
    this.#sets.set(key, values.add(value));
    return {
      [Symbol.dispose]: () => {
        values.delete(value);
        if (values.size === 0 && this.#sets.get(key) === values) this.#sets.delete(key);
      },
    };
  }

  of(key: string): ReadonlySet<V> {
    return this.#sets.get(key) ?? nothing;
  }

  /** Returns and removes all values of the key. */
  take(key: string): ReadonlySet<V> {
    const values = this.of(key);
    this.#sets.delete(key);
    return values;
  }
}
