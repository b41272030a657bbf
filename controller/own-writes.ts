import { isLaterVersion, type KubeObject, keyOf, type Stored } from "../api/kinds/meta.ts";
import { isNotFound } from "../kube/client/errors.ts";
import type { Change, Informer } from "../kube/informer/informer.ts";
import { Subscribers } from "../lib/data/subscribers.ts";
import type { Clock, Timer } from "../lib/time/clock.ts";
import { KeptWrites } from "./stores/kept-writes.ts";

// Longer than a watch lags on a healthy server. Then the remembered result is dropped, so that a missing event (the
// object was created and deleted between two lists) cannot keep an outdated object visible.
const rememberMs = 5_000;

interface Memory<T extends KubeObject> {
  readonly object: Stored<T>;
  readonly settledBy: Settles<T>;
  readonly timer: Timer;
}

type Settles<T extends KubeObject> = (change: Change<T>) => boolean;

interface Outcome<T extends KubeObject, R> {
  readonly result: R;
  readonly changes: readonly Change<T>[];
  /** Whether something newer is known than this answer: that of a later call came first, or the watch saw the object go. */
  readonly isOutdated: (answer: Stored<T>) => boolean;
}

/** The read half of `OwnWrites`. */
export interface View<T extends KubeObject> {
  /** By `namespace/name`, with our own writes applied. */
  get(key: string): Stored<T> | undefined;
}

/**
 * The store of an informer, with our own writes applied: the server's answer is shown until the watch has caught up.
 * Without that, a reconciler that its own write triggers would act twice. It only saves calls: a missed case ends in
 * AlreadyExists or a failed precondition, which callers handle anyway.
 */
export class OwnWrites<T extends KubeObject, I extends string = never> implements View<T>, Disposable {
  readonly #informer: Informer<T, I>;
  readonly #clock: Clock;
  readonly #memories = new Map<string, Memory<T>>();
  /** UIDs of objects that a read did not find, by key, until the watch reports something about that key. */
  readonly #gone = new Map<string, string>();
  readonly #listeners = new Subscribers<Change<T>>();
  readonly #forgottenListeners = new Subscribers<Stored<T>>();
  readonly #kept: KeptWrites;
  readonly #subscription: Disposable;

  constructor(informer: Informer<T, I>, clock: Clock) {
    this.#kept = new KeptWrites(clock);
    this.#informer = informer;
    this.#clock = clock;
    this.#subscription = informer.onChange((change) => this.#changed(change));
  }

  get(key: string): Stored<T> | undefined {
    const shown = this.#memories.get(key)?.object ?? this.#informer.store.get(key);
    return shown && shown.metadata.uid === this.#gone.get(key) ? undefined : shown;
  }

  /** Runs a create, and shows its result from then on. It is the first version, so whatever the watch reports is newer. */
  create(key: string, call: () => Promise<Stored<T>>): Promise<Stored<T>> {
    return this.#show(key, call, { isFirst: true });
  }

  /**
   * Runs a consistent read and shows its result from then on, also that there is no such object: a UID does not come back. Else an
   * object that was deleted while its watch is silent would be acted on for as long.
   */
  async read(key: string, call: () => Promise<Stored<T>>): Promise<Stored<T> | undefined> {
    const known = this.get(key)?.metadata.uid;
    try {
      return await this.write(key, call);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (this.#memories.get(key)?.object.metadata.uid === known) this.#forget(key);
      if (known !== undefined && this.#informer.store.get(key)?.metadata.uid === known) this.#gone.set(key, known);
      return undefined;
    }
  }

  /** Runs a patch or replace, or a direct read, and shows its result from then on. */
  write(key: string, call: () => Promise<Stored<T>>): Promise<Stored<T>> {
    return this.#show(key, call, { isFirst: false });
  }

  async #show(
    key: string,
    call: () => Promise<Stored<T>>,
    { isFirst }: { readonly isFirst: boolean },
  ): Promise<Stored<T>> {
    const { result, changes, isOutdated } = await this.#during(key, call);
    if (isOutdated(result)) return result;
    const before = changes[0]?.previous ?? this.#informer.store.get(key);
    // A read may return what the watch had before the read began; events since then are newer.
    if (before?.metadata.resourceVersion === result.metadata.resourceVersion) {
      this.#forget(key);
      return result;
    }
    this.#remember(result, changes, (change) => catchesUp(change, result, isFirst));
    return result;
  }

  /**
   * Runs a merge patch of `object` and shows its result from then on, whether or not it shows what the patch says.
   *
   * @throws NotKept as of `KeptWrites`.
   */
  patch(object: Stored<T>, body: object, call: () => Promise<Stored<T>>): Promise<Stored<T>> {
    return this.#kept.patch(object, body, () => this.write(keyOf(object), call));
  }

  /** Runs a replace of `object` and shows its result. @throws NotKept as of `KeptWrites`, if `isKept` does not accept that. */
  replace(
    object: Stored<T>,
    isKept: (answer: Stored<T>) => boolean,
    call: () => Promise<Stored<T>>,
  ): Promise<Stored<T>> {
    const lostIn = (answer: Stored<T>) => (isKept(answer) ? undefined : "all of its content");
    return this.#kept.write(object, { about: "", lostIn }, () => this.write(keyOf(object), call));
  }

  /** Runs a delete of `object` and shows it as terminating from then on. */
  async delete(object: Stored<T>, call: () => Promise<void>): Promise<void> {
    const key = keyOf(object);
    const { changes, isOutdated } = await this.#during(key, call);
    const known = this.get(key);
    const { uid } = object.metadata;
    const latest = known?.metadata.uid === uid ? known : object;
    const deletionTimestamp = this.#clock.now().toISOString();
    const terminating: Stored<T> = { ...latest, metadata: { deletionTimestamp, ...latest.metadata } };
    if (isOutdated(terminating)) return;
    this.#remember(terminating, changes, ({ current }) => {
      if (!current || current.metadata.uid !== uid) return true;
      const { deletionTimestamp: isTerminating, resourceVersion } = current.metadata;
      return isTerminating !== undefined && !isLaterVersion(latest.metadata.resourceVersion, resourceVersion);
    });
  }

  /** Calls back when the watch did not confirm a write in time, so that its key is requeued. */
  onForgotten(listener: (object: Stored<T>) => void): Disposable {
    return this.#forgottenListeners.add(listener);
  }

  /** Calls back with each deleted object, also when a new object has the same name. */
  onGone(listener: (object: Stored<T>) => void): Disposable {
    return this.#listeners.add(({ previous, current }) => {
      if (previous && previous.metadata.uid !== current?.metadata.uid) listener(previous);
    });
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const { timer } of this.#memories.values()) timer.cancel();
    this.#memories.clear();
    this.#gone.clear();
  }

  /** The result of a call, and what became known of the object meanwhile: an event may arrive before the answer. */
  async #during<R>(key: string, call: () => Promise<R>): Promise<Outcome<T, R>> {
    const changes: Change<T>[] = [];
    using _listening = this.#listeners.add((change) => {
      if (change.key === key) changes.push(change);
    });
    const knownBefore = this.#memories.get(key)?.object;
    const result = await call();
    const known = this.#memories.get(key)?.object;
    const isOutdated = (object: Stored<T>) =>
      changes.some(({ previous, current }) => hasUid(previous, object) && !hasUid(current, object)) ||
      (known !== undefined && isOlder(object, known, known === knownBefore));
    return { result, changes, isOutdated };
  }

  #remember(object: Stored<T>, changes: readonly Change<T>[], settledBy: Settles<T>): void {
    const key = keyOf(object);
    this.#forget(key);
    // A write that changed nothing returns the resourceVersion that the store has.
    const current = this.#informer.store.get(key);
    if (changes.some(settledBy) || settledBy({ key, previous: undefined, current })) return;
    const timer = this.#clock.after(rememberMs, () => {
      this.#memories.delete(key);
      this.#forgottenListeners.notify(object);
    });
    this.#memories.set(key, { object, settledBy, timer });
  }

  #forget(key: string): void {
    this.#memories.get(key)?.timer.cancel();
    this.#memories.delete(key);
  }

  #changed(change: Change<T>): void {
    const { previous, current } = change;
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#kept.forget(previous.metadata.uid);
    this.#gone.delete(change.key);
    this.#listeners.notify(change);
    if (this.#memories.get(change.key)?.settledBy(change)) this.#forget(change.key);
  }
}

/**
 * Whether a change shows `written`, or something that came after it. If the versions cannot be compared, a change may be older
 * than `written`, unless that is the first version: the watch reports an object that is new to it from its first version on.
 */
function catchesUp<T extends KubeObject>(
  { previous, current }: Change<T>,
  written: Stored<T>,
  isFirst: boolean,
): boolean {
  const { uid, resourceVersion, generation = 0 } = written.metadata;
  if (!current) return previous?.metadata.uid === uid;
  // A late event of an earlier object with the same name says nothing about the new object.
  if (current.metadata.uid !== uid) return false;
  if (isFirst || current.metadata.resourceVersion === resourceVersion) return true;
  return (
    (current.metadata.generation ?? 0) > generation || isLaterVersion(current.metadata.resourceVersion, resourceVersion)
  );
}

const hasUid = (one: KubeObject | undefined, { metadata }: KubeObject): boolean => one?.metadata.uid === metadata.uid;

/**
 * Whether an answer is older than what is known. What we have deleted is not there any more. `wasKnown`: before the call began. Then the
 * answer about another object of the same name is about a newer one. Else both orders are possible, and only their versions may tell.
 */
function isOlder(answer: Stored<KubeObject>, { metadata: known }: Stored<KubeObject>, wasKnown: boolean): boolean {
  const { metadata } = answer;
  if (metadata.uid !== known.uid) return !wasKnown && !isLaterVersion(metadata.resourceVersion, known.resourceVersion);
  if (known.deletionTimestamp && !metadata.deletionTimestamp) return true;
  return isLaterVersion(known.resourceVersion, metadata.resourceVersion);
}
