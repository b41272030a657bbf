import { type KubeObject, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import type { Store } from "./informer.ts";

/** For each index the values of an object. */
export type Indexes<T extends KubeObject, I extends string> = Readonly<
  Record<I, (object: Stored<T>) => readonly string[]>
>;

const none: ReadonlySet<string> = new Set();

/** Objects by key and by the values of each index. */
export class IndexedStore<T extends KubeObject, I extends string = never> implements Store<T, I> {
  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes: readonly (readonly [I, (object: Stored<T>) => readonly string[]])[];
  readonly #keys: Readonly<Record<I, Map<string, Set<string>>>>;
  readonly #frozen: boolean;

  /** `frozen` makes a caller fail that changes a shared object; it costs a walk over each object. */
  constructor(indexes: Indexes<T, I>, options: { readonly frozen?: boolean } = {}) {
    const names = Object.keys(indexes) as I[];
    this.#indexes = names.map((name) => [name, indexes[name]]);
    this.#keys = Object.fromEntries(names.map((name) => [name, new Map()])) as Record<I, Map<string, Set<string>>>;
    this.#frozen = options.frozen ?? false;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  list(): readonly Stored<T>[] {
    return [...this.#objects.values()];
  }

  by(index: I, value: string): readonly Stored<T>[] {
    const found: Stored<T>[] = [];
    for (const key of this.keysBy(index, value)) {
      const object = this.#objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  keysBy(index: I, value: string): ReadonlySet<string> {
    return this.#keys[index].get(value) ?? none;
  }

  keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  put(object: Stored<T>): void {
    const key = keyOf(object);
    // The values of an object may change, so its old version is removed from every index first.
    this.delete(key);
    this.#objects.set(key, this.#frozen ? deepFreeze(object) : object);
    for (const [name, valuesOf] of this.#indexes) {
      for (const value of valuesUnder(name, valuesOf, object)) {
        const keys = this.#keys[name].get(value) ?? new Set();
        this.#keys[name].set(value, keys.add(key));
      }
    }
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    for (const [name, valuesOf] of this.#indexes) {
      for (const value of valuesUnder(name, valuesOf, object)) {
        const keys = this.#keys[name].get(value);
        keys?.delete(key);
        if (keys?.size === 0) this.#keys[name].delete(value);
      }
    }
  }
}

/** An object for which an index function throws is found only by its key: it must not stop the watch of all others. */
function valuesUnder<T extends KubeObject>(
  index: string,
  valuesOf: (object: Stored<T>) => readonly string[],
  object: Stored<T>,
): readonly string[] {
  try {
    return valuesOf(object);
  } catch (cause) {
    reportUnexpected(
      "watch",
      new Error(`the index ${index} failed on ${keyOf(object)}; the object is found only by its key`, { cause }),
    );
    return [];
  }
}

function deepFreeze<V>(value: V): V {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
