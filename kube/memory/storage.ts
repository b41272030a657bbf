import { type KubeObject, keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { deepFreeze } from "./frozen.ts";

/** An object as it is stored: frozen, shared by all readers, and encoded once for all of them. */
export interface Entry {
  readonly object: Stored<KubeObject>;
  readonly json: string;
}

/** One step of the store's history. */
export interface Commit {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The collection, as `resourceName` calls it. */
  readonly resource: string;
  readonly version: number;
  /** What is stored now; of a deletion, the last state under the version of the deletion. */
  readonly entry: Entry;
  /** What was stored before. */
  readonly previous: Entry | undefined;
}

/** Everything that a store holds, for a copy on disk. */
export interface StorageState {
  readonly version: number;
  readonly objects: readonly { readonly resource: string; readonly object: Stored<KubeObject> }[];
}

interface Collection {
  readonly byKey: Map<string, Entry>;
  /** In the order of a list; dropped when an object comes or goes, and made again by the next list. */
  sorted: readonly Entry[] | undefined;
}

/**
 * The objects of all kinds under one counter of versions. It knows nothing of kinds or rules: it gives versions, keeps
 * the newest state, and tells what happened. A commit is recorded before anybody can see it.
 */
export class Storage {
  readonly #collections = new Map<string, Collection>();
  readonly #byUid = new Map<string, Commit["entry"]>();
  readonly #dependents = new Map<string, Map<string, { readonly resource: string; readonly key: string }>>();
  readonly #record: (commit: Commit) => void;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #version: number;

  /** `record` makes a commit durable; when it throws, nothing has happened. */
  constructor(record: (commit: Commit) => void = () => {}, state: StorageState = { version: 1, objects: [] }) {
    this.#record = record;
    this.#version = state.version;
    for (const { resource, object } of state.objects) {
      const entry = { object: deepFreeze(object), json: JSON.stringify(object) };
      this.#collection(resource).byKey.set(keyOf(object), entry);
      this.#index(resource, undefined, entry);
    }
  }

  /** The version of the newest commit. */
  get version(): number {
    return this.#version;
  }

  /** Calls back after each commit, in order. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  get(resource: string, namespace: string | undefined, name: string): Entry | undefined {
    return this.#collections.get(resource)?.byKey.get(keyFor(namespace, name));
  }

  byUid(uid: string): Entry | undefined {
    return this.#byUid.get(uid);
  }

  /** The objects that name this uid as an owner. */
  dependentsOf(uid: string): readonly { readonly resource: string; readonly entry: Entry }[] {
    const found: { resource: string; entry: Entry }[] = [];
    for (const { resource, key } of this.#dependents.get(uid)?.values() ?? []) {
      const entry = this.#collections.get(resource)?.byKey.get(key);
      if (entry) found.push({ resource, entry });
    }
    return found;
  }

  /** By namespace and name, as a real server lists. */
  list(resource: string, namespace?: string): readonly Entry[] {
    const collection = this.#collections.get(resource);
    if (!collection) return [];
    collection.sorted ??= [...collection.byKey.entries()].sort(byKeyOrder).map(([, entry]) => entry);
    return namespace === undefined
      ? collection.sorted
      : collection.sorted.filter(({ object }) => object.metadata.namespace === namespace);
  }

  /** The collections that ever held something. */
  resources(): readonly string[] {
    return [...this.#collections.keys()];
  }

  /** Stores an object as new or in place of the one of its name, under the next version. */
  put(resource: string, object: KubeObject): Entry {
    const collection = this.#collection(resource);
    const key = keyOf(object);
    const previous = collection.byKey.get(key);
    const entry = this.#commit(previous ? "MODIFIED" : "ADDED", resource, object, previous);
    return entry;
  }

  /** Removes the object of this name. What is returned is its last state, under the version of the removal. */
  remove(resource: string, object: KubeObject): Entry {
    return this.#commit("DELETED", resource, object, this.#collection(resource).byKey.get(keyOf(object)));
  }

  state(): StorageState {
    const objects: { resource: string; object: Stored<KubeObject> }[] = [];
    for (const [resource, { byKey }] of this.#collections) {
      for (const { object } of byKey.values()) objects.push({ resource, object });
    }
    return { version: this.#version, objects };
  }

  #commit(type: Commit["type"], resource: string, object: KubeObject, previous: Entry | undefined): Entry {
    const version = this.#version + 1;
    const entry = entryAt(object, version);
    const commit: Commit = { type, resource, version, entry, previous };
    this.#record(commit);
    this.#version = version;
    this.#apply(commit);
    for (const listener of this.#listeners) listener(commit);
    return entry;
  }

  #apply({ type, resource, entry, previous }: Commit): void {
    const collection = this.#collection(resource);
    const key = keyOf(entry.object);
    if (type === "DELETED") collection.byKey.delete(key);
    else collection.byKey.set(key, entry);
    collection.sorted = undefined;
    this.#index(resource, previous, type === "DELETED" ? undefined : entry);
  }

  #index(resource: string, previous: Entry | undefined, current: Entry | undefined): void {
    if (previous) {
      this.#byUid.delete(previous.object.metadata.uid);
      for (const { uid } of previous.object.metadata.ownerReferences ?? []) {
        const dependents = this.#dependents.get(uid);
        dependents?.delete(previous.object.metadata.uid);
        if (dependents?.size === 0) this.#dependents.delete(uid);
      }
    }
    if (current) {
      this.#byUid.set(current.object.metadata.uid, current);
      for (const { uid } of current.object.metadata.ownerReferences ?? []) {
        const dependents = this.#dependents.get(uid) ?? new Map();
        this.#dependents.set(
          uid,
          dependents.set(current.object.metadata.uid, { resource, key: keyOf(current.object) }),
        );
      }
    }
  }

  #collection(resource: string): Collection {
    let collection = this.#collections.get(resource);
    if (!collection) {
      collection = { byKey: new Map(), sorted: undefined };
      this.#collections.set(resource, collection);
    }
    return collection;
  }
}

function entryAt(object: KubeObject, version: number): Entry {
  const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  // Whoever writes has given it a name, a uid and a creation time by now.
  return { object: deepFreeze(stored) as Stored<KubeObject>, json: JSON.stringify(stored) };
}

const byKeyOrder = ([left]: [string, Entry], [right]: [string, Entry]): number =>
  left < right ? -1 : left > right ? 1 : 0;
