interface Entry<V> {
  readonly owner: string;
  readonly value: V;
}

/**
 * Values of several owners, by key. When it is full, the owner that has most gives up its least recently used value, so an owner
 * cannot evict what others use. Of owners that have equally many, the least recently used one gives way. Each call takes
 * constant time.
 */
export class SharedCache<V> {
  readonly #max: number;
  readonly #onEvicted: (value: V) => void;
  readonly #entries = new Map<string, Entry<V>>();
  /** The keys of each owner, the least recently used first. */
  readonly #keys = new Map<string, Set<string>>();
  /** The owners by the number of their keys, the least recently used first. */
  readonly #owners = new Map<number, Set<string>>();
  #most = 0;

  constructor(max: number, onEvicted: (value: V) => void = () => {}) {
    this.#max = max;
    this.#onEvicted = onEvicted;
  }

  /** All keys and values; this uses none of them. */
  *[Symbol.iterator](): Generator<readonly [key: string, value: V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    touch(this.#keys.get(entry.owner), key);
    touch(this.#owners.get(this.#count(entry.owner)), entry.owner);
    return entry.value;
  }

  ownerOf(key: string): string | undefined {
    return this.#entries.get(key)?.owner;
  }

  set(key: string, owner: string, value: V): void {
    this.delete(key);
    this.#entries.set(key, { owner, value });
    this.#move(owner, (keys) => keys.add(key));
    if (this.size > this.#max) this.#evict();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#move(entry.owner, (keys) => keys.delete(key));
  }

  #evict(): void {
    const [owner = ""] = this.#owners.get(this.#most) ?? [];
    const [key] = this.#keys.get(owner) ?? [];
    const entry = key !== undefined && this.#entries.get(key);
    if (key === undefined || !entry) return;
    this.delete(key);
    this.#onEvicted(entry.value);
  }

  #count(owner: string): number {
    return this.#keys.get(owner)?.size ?? 0;
  }

  /** Changes the keys of an owner by one. */
  #move(owner: string, change: (keys: Set<string>) => void): void {
    const keys = this.#keys.get(owner) ?? new Set();
    const before = this.#owners.get(keys.size);
    if (before?.delete(owner) && before.size === 0) this.#owners.delete(keys.size);
    change(keys);
    if (keys.size === 0) this.#keys.delete(owner);
    else {
      this.#keys.set(owner, keys);
      const after = this.#owners.get(keys.size);
      if (after) after.add(owner);
      else this.#owners.set(keys.size, new Set([owner]));
    }
    this.#most = Math.max(this.#most, keys.size);
    if (!this.#owners.has(this.#most)) this.#most -= 1; // the owner that left it has one less
  }
}

function touch(items: Set<string> | undefined, item: string): void {
  if (items?.delete(item)) items.add(item);
}
