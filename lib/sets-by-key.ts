const nothing: ReadonlySet<never> = new Set();

/** A set of values under each key; a key whose set is empty is not kept. */
export class SetsByKey<V> {
  readonly #sets = new Map<string, Set<V>>();

  /** How many keys have values. */
  get size(): number {
    return this.#sets.size;
  }

  /** Disposing takes the value out again. */
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

  /** What was there under the key, which has nothing from now on. */
  take(key: string): ReadonlySet<V> {
    const values = this.of(key);
    this.#sets.delete(key);
    return values;
  }
}
