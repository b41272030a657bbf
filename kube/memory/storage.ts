import { type KubeObject, keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { byCodeUnits } from "../../lib/by-code-units.ts";
import { deepFreeze } from "./json-values.ts";

/** An object as it is stored: frozen, shared by all readers, and encoded once for all of them. */
export interface Entry {
  readonly object: Stored<KubeObject>;
  readonly json: string;
}

/** An entry and the collection that it is in. */
export interface Located {
  readonly resource: string;
  readonly entry: Entry;
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

/** Everything that a store holds, as a copy on disk carries it. */
export interface StorageState {
  readonly version: number;
  readonly objects: readonly { readonly resource: string; readonly object: Stored<KubeObject> }[];
}

/** What a store that holds nothing begins with: a real one never hands out version 0 either. */
export const emptyState: StorageState = { version: 1, objects: [] };

interface Collection {
  readonly byKey: Map<string, Entry>;
  /** In the order of a list; dropped when a key comes or goes, and made again by the next list. */
  sortedKeys: readonly string[] | undefined;
}

/**
 * The objects of all kinds under one counter of versions. It knows nothing of kinds or rules: it gives versions, keeps
 * the newest state, and tells what happened. A commit is recorded before anybody can see it.
 */
export class Storage {
  readonly #collections = new Map<string, Collection>();
  readonly #byUid = new Map<string, Located>();
  /** By uid of the owner: the uids of those that name it. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #record: (commit: Commit) => void;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #version: number;

  /** `record` makes a commit durable; when it throws, nothing has happened. */
  constructor(state: StorageState = emptyState, record: (commit: Commit) => void = () => {}) {
    this.#record = record;
    this.#version = state.version;
    for (const { resource, object } of state.objects) {
      const entry = { object: deepFreeze(object), json: JSON.stringify(object) };
      this.#collection(resource).byKey.set(keyOf(object), entry);
      this.#index({ resource, entry });
    }
  }

  /** The version of the newest commit. */
  get version(): number {
    return this.#version;
  }

  /** Calls back after each commit, in order. A listener must not write: it would be heard before those after it. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  get(resource: string, namespace: string | undefined, name: string): Entry | undefined {
    return this.#collections.get(resource)?.byKey.get(keyFor(namespace, name));
  }

  byUid(uid: string): Located | undefined {
    return this.#byUid.get(uid);
  }

  /** The objects that name this uid as an owner. */
  dependentsOf(uid: string): readonly Located[] {
    const uids = this.#dependents.get(uid) ?? [];
    return [...uids].flatMap((dependent) => this.#byUid.get(dependent) ?? []);
  }

  /** By namespace and name, as a real server lists. */
  list(resource: string, namespace?: string): readonly Entry[] {
    const collection = this.#collections.get(resource);
    if (!collection) return [];
    collection.sortedKeys ??= [...collection.byKey.keys()].sort(byCodeUnits);
    const entries = collection.sortedKeys.flatMap((key) => collection.byKey.get(key) ?? []);
    return namespace === undefined ? entries : entries.filter(({ object }) => object.metadata.namespace === namespace);
  }

  /** How many objects a collection holds. */
  size(resource: string): number {
    return this.#collections.get(resource)?.byKey.size ?? 0;
  }

  /** The object that has been in a collection for longest since it was created or the server started. */
  oldest(resource: string): Entry | undefined {
    return this.#collections.get(resource)?.byKey.values().next().value;
  }

  /** Everything in one namespace, or everywhere. */
  *everything(namespace?: string): Iterable<Located> {
    for (const [resource, { byKey }] of this.#collections) {
      for (const entry of byKey.values()) {
        if (namespace === undefined || entry.object.metadata.namespace === namespace) yield { resource, entry };
      }
    }
  }

  /** Stores an object as new or in place of the one of its name, under the next version. */
  put(resource: string, object: KubeObject): Entry {
    const previous = this.#collection(resource).byKey.get(keyOf(object));
    return this.#commit(previous ? "MODIFIED" : "ADDED", resource, object, previous);
  }

  /** Removes the object of this name. What is returned is its last state, under the version of the removal. */
  remove(resource: string, object: KubeObject): Entry {
    return this.#commit("DELETED", resource, object, this.#collection(resource).byKey.get(keyOf(object)));
  }

  state(): StorageState {
    const objects = [...this.everything()].map(({ resource, entry }) => ({ resource, object: entry.object }));
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
    if (previous) this.#forget(previous);
    if (type === "DELETED") collection.byKey.delete(key);
    else {
      collection.byKey.set(key, entry);
      this.#index({ resource, entry });
    }
    if (type !== "MODIFIED") collection.sortedKeys = undefined;
  }

  #index(located: Located): void {
    const { uid, ownerReferences = [] } = located.entry.object.metadata;
    this.#byUid.set(uid, located);
    for (const owner of ownerReferences) {
      const dependents = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, dependents.add(uid));
    }
  }

  #forget({ object }: Entry): void {
    const { uid, ownerReferences = [] } = object.metadata;
    this.#byUid.delete(uid);
    for (const owner of ownerReferences) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  #collection(resource: string): Collection {
    let collection = this.#collections.get(resource);
    if (!collection) {
      collection = { byKey: new Map(), sortedKeys: undefined };
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
