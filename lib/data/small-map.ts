/**
 * A map for keys of which there is nearly always one. The first entry lies in the object itself: a lookup among a thousand such maps
 * reads no table, and each table is memory that the processor's cache does not have.
 */
export class SmallMap<K, V> {
  #first: { readonly key: K; readonly value: V } | undefined;
  #others: Map<K, V> | undefined;

  get size(): number {
    return (this.#first ? 1 : 0) + (this.#others?.size ?? 0);
  }

  get(key: K): V | undefined {
    const first = this.#first;
    return first && first.key === key ? first.value : this.#others?.get(key);
  }

  set(key: K, value: V): void {
    if (this.#others?.has(key)) this.#others.set(key, value);
    else if (this.#first === undefined || this.#first.key === key) this.#first = { key, value };
    else {
      this.#others ??= new Map();
      this.#others.set(key, value);
    }
  }

  delete(key: K): void {
    if (this.#first && this.#first.key === key) this.#first = undefined;
    else if (this.#others?.delete(key) && this.#others.size === 0) this.#others = undefined;
  }

  /** The one in the object first, then the others in the order of their first `set`. Entries may be deleted meanwhile. */
  *values(): Generator<V> {
    if (this.#first) yield this.#first.value;
    if (this.#others) yield* this.#others.values();
  }
}
