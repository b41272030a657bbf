import { type KubeObject, keyOf, type Stored } from "../api/meta.ts";
import type { Change, Informer } from "../kube/informer.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Subscribers } from "../lib/subscribers.ts";

// Longer than a watch lags on a healthy server. What we remember is dropped then, so that an event that never comes
// (the object was made and deleted between two lists) cannot keep a picture alive that is not true.
const rememberMs = 5_000;

interface Memory<T extends KubeObject> {
  readonly object: Stored<T>;
  readonly settledBy: Settles<T>;
  readonly timer: Timer;
}

type Settles<T extends KubeObject> = (change: Change<T>) => boolean;

/** The read half of `OwnWrites`. */
export interface View<T extends KubeObject> {
  /** By `namespace/name`, as it is after our own writes. */
  get(key: string): Stored<T> | undefined;
}

/**
 * The store of an informer, but never behind our own writes: what the server answered is shown until the watch has
 * caught up with it. Without that a reconciler that is woken by its own write acts twice. It only saves calls: whatever
 * it misses ends in AlreadyExists or a failed precondition, which callers handle anyway.
 */
export class OwnWrites<T extends KubeObject, I extends string = never> implements View<T>, Disposable {
  readonly #informer: Informer<T, I>;
  readonly #clock: Clock;
  readonly #memories = new Map<string, Memory<T>>();
  readonly #listeners = new Subscribers<Change<T>>();
  readonly #forgottenListeners = new Subscribers<Stored<T>>();
  readonly #subscription: Disposable;

  constructor(informer: Informer<T, I>, clock: Clock) {
    this.#informer = informer;
    this.#clock = clock;
    this.#subscription = informer.onChange((change) => this.#changed(change));
  }

  get(key: string): Stored<T> | undefined {
    return this.#memories.get(key)?.object ?? this.#informer.store.get(key);
  }

  /** Runs a create, patch or replace, or a read that asks the server itself, and shows its result from then on. */
  async write(key: string, call: () => Promise<Stored<T>>): Promise<Stored<T>> {
    const { result, changes } = await this.#during(key, call);
    const before = changes[0]?.previous ?? this.#informer.store.get(key);
    // A read tells what the watch had told before it began; what has come since is newer.
    if (before?.metadata.resourceVersion === result.metadata.resourceVersion) {
      this.#forget(key);
      return result;
    }
    const isNew = before?.metadata.uid !== result.metadata.uid;
    this.#remember(result, changes, (change) => catchesUp(change, result, isNew));
    return result;
  }

  /** Runs a delete of `object` and shows it as terminating from then on. */
  async delete(object: Stored<T>, call: () => Promise<void>): Promise<void> {
    const { changes } = await this.#during(keyOf(object), call);
    const deletionTimestamp = this.#clock.now().toISOString();
    const doomed: Stored<T> = { ...object, metadata: { ...object.metadata, deletionTimestamp } };
    const { uid } = object.metadata;
    this.#remember(doomed, changes, ({ current }) => {
      return !current || current.metadata.uid !== uid || current.metadata.deletionTimestamp !== undefined;
    });
  }

  /** Calls back when the watch did not confirm a write in time, so that somebody looks again. */
  onForgotten(listener: (object: Stored<T>) => void): Disposable {
    return this.#forgottenListeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const { timer } of this.#memories.values()) timer.cancel();
    this.#memories.clear();
  }

  /** The result of a call, and what the watch told about the object meanwhile: an event may overtake the answer. */
  async #during<R>(key: string, call: () => Promise<R>): Promise<{ result: R; changes: readonly Change<T>[] }> {
    const changes: Change<T>[] = [];
    using _listening = this.#listeners.add((change) => {
      if (change.key === key) changes.push(change);
    });
    return { result: await call(), changes };
  }

  #remember(object: Stored<T>, changes: readonly Change<T>[], settledBy: Settles<T>): void {
    const key = keyOf(object);
    this.#forget(key);
    // A write that changed nothing is answered with the version that we have.
    const current = this.#informer.store.get(key);
    if (changes.some(settledBy) || settledBy({ key, previous: undefined, current })) return;
    const timer = this.#clock.after(rememberMs, () => {
      this.#memories.delete(key);
      this.#forgottenListeners.tell(object);
    });
    this.#memories.set(key, { object, settledBy, timer });
  }

  #forget(key: string): void {
    this.#memories.get(key)?.timer.cancel();
    this.#memories.delete(key);
  }

  #changed(change: Change<T>): void {
    this.#listeners.tell(change);
    if (this.#memories.get(change.key)?.settledBy(change)) this.#forget(change.key);
  }
}

/**
 * Whether a change shows `written`, or something that came after it. Versions can only be compared for equality, so a
 * change of an object that the watch knew before may be older news; of one that is new to it, every change is newer.
 */
function catchesUp<T extends KubeObject>(
  { previous, current }: Change<T>,
  written: Stored<T>,
  isNew: boolean,
): boolean {
  const { uid, resourceVersion, generation = 0 } = written.metadata;
  if (!current) return previous?.metadata.uid === uid;
  // A late word about an earlier object of the same name says nothing about the one that we made.
  if (current.metadata.uid !== uid) return false;
  return (
    isNew || current.metadata.resourceVersion === resourceVersion || (current.metadata.generation ?? 0) > generation
  );
}
