interface Entry<K> {
  readonly key: K;
  dueMs: number;
}

/** Deadlines by key, the earliest first: setting, moving and removing one takes logarithmic time. */
export class DeadlineHeap<K = string> {
  readonly #heap: Entry<K>[] = [];
  /** The position of each key in the heap. */
  readonly #places = new Map<K, number>();

  get size(): number {
    return this.#heap.length;
  }

  /** The earliest deadline; undefined if there is none. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  /** A copy of all keys: deadlines may be set meanwhile. */
  keys(): readonly K[] {
    return [...this.#places.keys()];
  }

  dueMsOf(key: K): number | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#heap[place]?.dueMs;
  }

  /** Sets the key's deadline, replacing its previous one. */
  set(key: K, dueMs: number): void {
    const place = this.#places.get(key);
    const entry = place === undefined ? undefined : this.#heap[place];
    if (place === undefined || !entry) {
      this.#heap.push({ key, dueMs });
      this.#places.set(key, this.#heap.length - 1);
      this.#rise(this.#heap.length - 1);
      return;
    }
    entry.dueMs = dueMs;
    this.#sink(this.#rise(place));
  }

  delete(key: K): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#swap(place, this.#heap.length - 1);
    this.#heap.pop();
    this.#places.delete(key);
    if (place < this.#heap.length) this.#sink(this.#rise(place));
    return true;
  }

  /** Removes and returns the first key that is due, if any; of equal ones any. */
  takeDue(nowMs: number): K | undefined {
    const first = this.#heap[0];
    if (!first || first.dueMs > nowMs) return undefined;
    this.delete(first.key);
    return first.key;
  }

  #dueAt(place: number): number {
    return this.#heap[place]?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  #rise(from: number): number {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#dueAt(parent) <= this.#dueAt(place)) break;
      this.#swap(place, parent);
      place = parent;
    }
    return place;
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const left = 2 * place + 1;
      const child = this.#dueAt(left + 1) < this.#dueAt(left) ? left + 1 : left;
      if (this.#dueAt(place) <= this.#dueAt(child)) return;
      this.#swap(place, child);
      place = child;
    }
  }

  #swap(a: number, b: number): void {
    const first = this.#heap[a];
    const second = this.#heap[b];
    if (!first || !second || a === b) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
    this.#places.set(second.key, a);
    this.#places.set(first.key, b);
  }
}
