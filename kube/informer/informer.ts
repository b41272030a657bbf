import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { ClockReading } from "../../lib/time/clock-jumps.ts";

/** The current objects of a watch. They are shared and must not be changed. */
export interface Store<T extends KubeObject, I extends string = never> {
  /** By `namespace/name`. */
  get(key: string): Stored<T> | undefined;
  list(): readonly Stored<T>[];
  /** All objects with this value in this index. */
  by(index: I, value: string): readonly Stored<T>[];
  /** Their keys, without a walk over them. The set is the store's own: it changes with the store. */
  keysBy(index: I, value: string): ReadonlySet<string>;
  readonly size: number;
}

/** An object was created (no `previous`), changed, or deleted (no `current`). */
export interface Change<T extends KubeObject> {
  readonly key: string;
  readonly previous: Stored<T> | undefined;
  readonly current: Stored<T> | undefined;
}

/** Why a store does not follow the API server at the moment. */
export interface Trouble {
  /**
   * `missing`: the server does not have the kind. `refused`: the server answers, but not with the objects, and does not
   * change by itself. `failed`: everything else, such as a server that is away or overloaded.
   */
  readonly is: "missing" | "refused" | "failed";
  /** Milliseconds since the first failure of this sort in a row. */
  readonly forMs: number;
}

/** A write that the API server has accepted. */
export interface Written {
  /** Monotonic time of its answer. */
  readonly atMs: number;
  /** The version that it made; undefined: the answer did not say. */
  readonly version: string | undefined;
}

/** A store that follows an API server until disposed, through all failures of the server and the network. */
export interface Informer<T extends KubeObject, I extends string = never> extends Running {
  /** The kind of its objects. */
  readonly kind: string;
  readonly store: Store<T, I>;
  /** Resolves after the first successful list. */
  readonly synced: Promise<void>;
  /** Calls back after each change of the store, in order. Disposing ends that. */
  onChange(listener: (change: Change<T>) => void): Disposable;
  /**
   * Milliseconds since the API server last sent anything for this watch (an event, a bookmark, a list). Never too few, whatever
   * waited in a socket; up to the interval of the beats too many. `now`: for a caller that has read the clocks.
   */
  silentMs(now?: ClockReading): number;
  /**
   * Whether the store has come as far as this write: it has the state of a list that began later, or an event or a bookmark of this
   * version or a later one. Without a version, an event or a bookmark that was sent later has to do.
   */
  hasSeen(written: Written): boolean;
  /** Undefined while the API server answers. */
  trouble(): Trouble | undefined;
}
