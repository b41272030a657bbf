import { type KubeObject, keyOf, type Stored } from "../api/meta.ts";
import type { Logger } from "../lib/log.ts";
import type { IndexedStore } from "./indexed-store.ts";
import type { Change } from "./informer.ts";

/**
 * Brings a store in line with what a server says and tells listeners exactly what that changed: nothing twice, nothing
 * left out, and an object that was replaced by another of its name as one that went and one that came.
 */
export class ChangeFeed<T extends KubeObject, I extends string> {
  readonly #store: IndexedStore<T, I>;
  readonly #log: Logger;
  readonly #listeners = new Set<(change: Change<T>) => void>();

  constructor(store: IndexedStore<T, I>, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  onChange(listener: (change: Change<T>) => void): Disposable {
    const own = (change: Change<T>) => listener(change); // the same function may listen twice
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** The object exists, as it is here. */
  set(object: Stored<T>): void {
    const key = keyOf(object);
    let previous = this.#store.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      this.#remove(key, previous);
      previous = undefined;
    }
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#store.put(object);
    this.#tell({ key, previous, current: object });
  }

  /** The object with this identity is gone; another of the same name is not meant. */
  unset(object: Stored<T>): void {
    const key = keyOf(object);
    const previous = this.#store.get(key);
    if (previous && previous.metadata.uid === object.metadata.uid) this.#remove(key, previous);
  }

  /** These objects exist, and no others. */
  replaceAll(objects: readonly Stored<T>[]): void {
    const listed = new Set(objects.map(keyOf));
    for (const key of this.#store.keys()) {
      const previous = this.#store.get(key);
      if (previous && !listed.has(key)) this.#remove(key, previous);
    }
    for (const object of objects) this.set(object);
  }

  #remove(key: string, previous: Stored<T>): void {
    this.#store.delete(key);
    this.#tell({ key, previous, current: undefined });
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // One listener's mistake must not keep the news from the others, nor end the watch.
        this.#log.error({ err: error, key: change.key }, "a listener failed on a change");
      }
    }
  }
}
