import type { KubeObject, Stored } from "../api/meta.ts";
import type { Running } from "../lib/lifecycle.ts";

/** What a watch has told so far. Its objects are shared: nobody may change them. */
export interface Store<T extends KubeObject, I extends string = never> {
  /** By `namespace/name`. */
  get(key: string): Stored<T> | undefined;
  list(): readonly Stored<T>[];
  /** Everything that has this value in this index. */
  by(index: I, value: string): readonly Stored<T>[];
  readonly size: number;
}

/** An object came (no `previous`), changed, or went (no `current`). */
export interface Change<T extends KubeObject> {
  readonly key: string;
  readonly previous: Stored<T> | undefined;
  readonly current: Stored<T> | undefined;
}

/** A store that follows an API server until it is disposed of, whatever the server and the network do meanwhile. */
export interface Informer<T extends KubeObject, I extends string = never> extends Running {
  readonly store: Store<T, I>;
  /** Resolves after the first list that worked. */
  readonly synced: Promise<void>;
  /** Calls back after the store has changed, in order, once for each change. Disposing ends that. */
  onChange(listener: (change: Change<T>) => void): Disposable;
  /** Milliseconds since the API server last said anything on this watch (an event, a bookmark, a list). */
  silentMs(): number;
}
