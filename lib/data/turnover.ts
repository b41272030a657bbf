/**
 * Maps and sets whose entries come and go all the time: streams, calls, connections.
 *
 * V8 keeps a Map's entries in a table. A table that is full, or nearly empty, is replaced, and refers to the next one. A table that has
 * reached the old space stays until the next full collection of garbage, and so does everything behind it: each later table of the
 * same Map, with what was in it when it was replaced. Such a Map makes old objects of short-lived ones, and these are collected by full
 * collections only (decision 91). A new Map has a table that no other refers to. So the entries are moved to a new one again and again.
 */

/** Additions until the entries move. Moving costs as much as that many additions at most. */
const additionsMin = 64;

/** Counts additions, and tells when the entries are to move. */
export class TableAge {
  #additions = 0;

  /** Call it before an addition. `size`: the number of entries. */
  isOver(size: number): boolean {
    this.#additions += 1;
    if (this.#additions <= Math.max(additionsMin, size)) return false;
    this.#additions = 0;
    return true;
  }
}

/** A Map for entries that come and go. An iteration is over the entries that were there when it began. */
export class TurnoverMap<K, V> {
  readonly #age = new TableAge();
  #entries = new Map<K, V>();

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    if (this.#age.isOver(this.#entries.size)) this.#move();
    this.#entries.set(key, value);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  keys(): IterableIterator<K> {
    return [...this.#entries.keys()].values();
  }

  values(): IterableIterator<V> {
    return [...this.#entries.values()].values();
  }

  /** Iterates over the values as they are at each step, without a copy. It ends early when the entries move. Then begin a new walk. */
  walk(): MapIterator<V> {
    return this.#entries.values();
  }

  #move(): void {
    const former = this.#entries;
    this.#entries = new Map(former);
    former.clear(); // this ends the walks over it
  }
}

/** A Set for members that come and go. An iteration is over the members that were there when it began. */
export class TurnoverSet<T> implements Iterable<T> {
  readonly #age = new TableAge();
  #members = new Set<T>();

  get size(): number {
    return this.#members.size;
  }

  has(member: T): boolean {
    return this.#members.has(member);
  }

  add(member: T): void {
    if (this.#age.isOver(this.#members.size)) this.#move();
    this.#members.add(member);
  }

  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  [Symbol.iterator](): IterableIterator<T> {
    return [...this.#members].values();
  }

  /** Iterates over the members as they are at each step, without a copy. It ends early when they move. Then begin a new walk. */
  walk(): SetIterator<T> {
    return this.#members.values();
  }

  #move(): void {
    const former = this.#members;
    this.#members = new Set(former);
    former.clear(); // this ends the walks over it
  }
}
