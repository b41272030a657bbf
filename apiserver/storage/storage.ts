import { type KubeObject, keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import { deepFreeze } from "../json-values.ts";
import { weightOf } from "./quota.ts";

/** An object as stored: frozen, shared by all readers, and encoded once for all of them, when the first one asks. */
export interface Entry {
  readonly object: Stored<KubeObject>;
  readonly json: string;
}

/** An entry of the store itself. */
export interface StoredEntry extends Entry {
  /** What it counts in the quota. */
  readonly weight: number;
}

/** An entry and its collection. */
export interface Located {
  readonly resource: string;
  readonly entry: Entry;
}

/** One change of the store. */
export interface Commit {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The collection, named by `resourceName`. */
  readonly resource: string;
  readonly version: number;
  /** The stored object; for a deletion, the last state under the version of the deletion. */
  readonly entry: StoredEntry;
  /** The object before the change. */
  readonly previous: StoredEntry | undefined;
}

/** The content of a store, for its copy on disk. */
export interface StorageState {
  readonly version: number;
  readonly objects: readonly { readonly resource: string; readonly object: Stored<KubeObject> }[];
}

/** The state of an empty store: a real one never uses version 0 either. */
export const emptyState: StorageState = { version: 1, objects: [] };

interface Collection {
  readonly byKey: Map<string, StoredEntry>;
  /** In the order of a list; discarded when a key is added or removed, and sorted again by the next list. */
  sortedKeys: readonly string[] | undefined;
}

/**
 * The objects of all kinds under one version counter. It has no rules of kinds: it assigns versions, keeps the newest
 * state, and reports changes. A commit is recorded before anyone can see it.
 */
export class Storage {
  readonly #collections = new Map<string, Collection>();
  readonly #byUid = new Map<string, Located>();
  /** By uid of the owner: the uids of its dependents. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #record: (commit: Commit) => void;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #version: number;
  #weight = 0;

  /** `record` makes a commit durable; when it throws, the store is unchanged. */
  constructor(state: StorageState = emptyState, record: (commit: Commit) => void = () => {}) {
    this.#record = record;
    this.#version = state.version;
    for (const { resource, object } of state.objects) {
      const entry = new FrozenEntry(object);
      // The text is not kept: at a start nobody has asked for it yet.
      this.#weight += entry.weight;
      this.#collection(resource).byKey.set(keyOf(object), entry);
      this.#index({ resource, entry });
    }
  }

  /** The version of the newest commit. */
  get version(): number {
    return this.#version;
  }

  /** Of all objects, as the quota counts it. */
  get weight(): number {
    return this.#weight;
  }

  /**
   * Calls back after each commit, in order. A listener must not write: later listeners would see its commit first. An
   * error of a listener is reported as unexpected, and the commit stays.
   */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  get(resource: string, namespace: string | undefined, name: string): StoredEntry | undefined {
    return this.#collections.get(resource)?.byKey.get(keyFor(namespace, name));
  }

  byUid(uid: string): Located | undefined {
    return this.#byUid.get(uid);
  }

  /** The objects with an owner reference to this uid. */
  dependentsOf(uid: string): readonly Located[] {
    const uids = this.#dependents.get(uid) ?? [];
    return [...uids].flatMap((dependent) => this.#byUid.get(dependent) ?? []);
  }

  /** Sorted by namespace and name, as in a real server. */
  list(resource: string, namespace?: string): readonly Entry[] {
    const collection = this.#collections.get(resource);
    if (!collection) return [];
    collection.sortedKeys ??= [...collection.byKey.keys()].sort(byCodeUnits);
    const entries = collection.sortedKeys.flatMap((key) => collection.byKey.get(key) ?? []);
    return namespace === undefined ? entries : entries.filter(({ object }) => object.metadata.namespace === namespace);
  }

  /** The number of objects in a collection. */
  size(resource: string): number {
    return this.#collections.get(resource)?.byKey.size ?? 0;
  }

  /** The oldest object of a collection, since its creation or the start of the server. */
  oldest(resource: string): Entry | undefined {
    return this.#collections.get(resource)?.byKey.values().next().value;
  }

  /** All objects of one namespace, or of all. */
  *everything(namespace?: string): Iterable<Located> {
    for (const [resource, { byKey }] of this.#collections) {
      for (const entry of byKey.values()) {
        if (namespace === undefined || entry.object.metadata.namespace === namespace) yield { resource, entry };
      }
    }
  }

  /** Stores an object, or replaces the one of the same name, under the next version. */
  put(resource: string, object: KubeObject): Entry {
    const previous = this.#collection(resource).byKey.get(keyOf(object));
    return this.#commit(previous ? "MODIFIED" : "ADDED", resource, object, previous);
  }

  /** Removes the object of this name. Returns its last state, under the version of the removal. */
  remove(resource: string, object: KubeObject): Entry {
    return this.#commit("DELETED", resource, object, this.#collection(resource).byKey.get(keyOf(object)));
  }

  state(): StorageState {
    const objects = [...this.everything()].map(({ resource, entry }) => ({ resource, object: entry.object }));
    return { version: this.#version, objects };
  }

  #commit(type: Commit["type"], resource: string, object: KubeObject, previous: StoredEntry | undefined): StoredEntry {
    const version = this.#version + 1;
    const entry = entryAt(object, version);
    const commit: Commit = { type, resource, version, entry, previous };
    this.#record(commit);
    this.#version = version;
    this.#apply(commit);
    for (const listener of this.#listeners) {
      try {
        listener(commit);
      } catch (error) {
        // The commit is stored: its writer must not get an error, and the other listeners must be called.
        reportUnexpected("api-server", error);
      }
    }
    return entry;
  }

  #apply({ type, resource, entry, previous }: Commit): void {
    const collection = this.#collection(resource);
    const key = keyOf(entry.object);
    if (previous) {
      this.#weight -= previous.weight;
      this.#forget(previous);
    }
    if (type !== "DELETED") this.#weight += entry.weight;
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

function entryAt(object: KubeObject, version: number): StoredEntry {
  const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  // The caller has set its name, uid and creation time.
  return new FrozenEntry(stored as Stored<KubeObject>);
}

class FrozenEntry implements StoredEntry {
  readonly object: Stored<KubeObject>;
  #json: string | undefined;
  #weight: number | undefined;

  constructor(object: Stored<KubeObject>) {
    this.object = deepFreeze(object);
  }

  get weight(): number {
    this.#weight ??= weightOf(this.#json ?? JSON.stringify(this.object));
    return this.#weight;
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.object);
    return this.#json;
  }
}
