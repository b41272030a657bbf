import { type KubeObject, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import type { IndexedStore } from "./indexed-store.ts";
import type { Change } from "./informer.ts";

export interface Replacing<T extends KubeObject> {
  /** The form in which an object is stored; absent: as it is. */
  readonly toStored?: (object: Stored<T>) => Stored<T>;
  /** Called after each object, and awaited if it returns a promise; absent: all objects are replaced at once. */
  readonly rest?: () => Promise<void> | undefined;
}

/**
 * Updates a store from a server's data and notifies listeners of the exact changes: none twice, none missing. An object
 * that was replaced by another of the same name is a deletion and a creation.
 */
export class ChangeFeed<T extends KubeObject, I extends string> {
  readonly #store: IndexedStore<T, I>;
  readonly #listeners = new Set<(change: Change<T>) => void>();

  constructor(store: IndexedStore<T, I>) {
    this.#store = store;
  }

  onChange(listener: (change: Change<T>) => void): Disposable {
    const own = (change: Change<T>) => listener(change); // the same function may be added twice
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** The object exists in this state. */
  set(object: Stored<T>): void {
    const key = keyOf(object);
    let previous = this.#store.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      this.#remove(key, previous);
      previous = undefined;
    }
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#store.put(object);
    this.#notify({ key, previous, current: object });
  }

  /** The object with this UID is deleted; another of the same name is not affected. */
  unset(object: Stored<T>): void {
    const key = keyOf(object);
    const previous = this.#store.get(key);
    if (previous && previous.metadata.uid === object.metadata.uid) this.#remove(key, previous);
  }

  /**
   * Exactly these objects exist. In a rest the store has the former state of some, as when a watch is late: first the objects go that exist no
   * more, then the others change.
   */
  async replaceAll(objects: readonly Stored<T>[], { toStored, rest }: Replacing<T> = {}): Promise<void> {
    const gone = new Set(this.#store.keys());
    for (const object of objects) gone.delete(keyOf(object));
    for (const key of gone) {
      const previous = this.#store.get(key);
      if (previous) this.#remove(key, previous);
      const resting = rest?.();
      if (resting) await resting;
    }
    for (const object of objects) {
      this.set(toStored?.(object) ?? object);
      const resting = rest?.();
      if (resting) await resting;
    }
  }

  #remove(key: string, previous: Stored<T>): void {
    this.#store.delete(key);
    this.#notify({ key, previous, current: undefined });
  }

  #notify(change: Change<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // An error of one listener must not affect the others, nor end the watch.
        reportUnexpected("watch", new Error(`a listener failed on a change of ${change.key}`, { cause: error }));
      }
    }
  }
}
