import type { KubeList, KubeObject, Status, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { ClockReading } from "../../lib/time/clock-jumps.ts";

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection {
  /** Absent: a consistent read. `0`: any version from a cache. */
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continue?: string;
}

export interface WatchOptions extends Selection {
  /** The watch reports the changes after this version. */
  readonly resourceVersion: string;
  /** The server ends the watch after this number of seconds. */
  readonly timeoutSeconds?: number;
  readonly allowBookmarks?: boolean;
  /** Called when the server has sent the response head; the first event may come much later. */
  readonly onOpen?: () => void;
  readonly reading?: WatchReading;
}

/** Told how a watch is read. Its events are handled later, if many arrive together. */
export interface WatchReading {
  /** A part of the response has arrived. Returns the earliest moment at which the server can have sent it. */
  arrived(): ClockReading;
  /** With true: too much waits to be handled, so nothing is read, and what the server sends waits on the way. With false: reading goes on. */
  paused(isPaused: boolean): void;
}

export type WatchEvent<T extends KubeObject> = SentEvent<T> & {
  /** What `WatchReading.arrived` said about the part in which the event begins. */
  readonly sentSince?: ClockReading | undefined;
};

type SentEvent<T extends KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Stored<T> }
  /** Only its `metadata.resourceVersion` is valid. */
  | { readonly type: "BOOKMARK"; readonly object: KubeObject }
  | { readonly type: "ERROR"; readonly object: Status };

/** `merge`: RFC 7386. `json`: RFC 6902. `strategic`: built-in kinds only. */
export type Patch =
  | { readonly type: "merge"; readonly body: object }
  | { readonly type: "json"; readonly body: readonly object[] }
  | { readonly type: "strategic"; readonly body: object };

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly subresource?: "status" | "scale";
  /** The API server does all but store the result: it also asks its admission policies and webhooks. */
  readonly dryRun?: boolean;
}

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

/**
 * The interface to an API server. Every call rejects with an `ApiError` if the server answered with an error, with an
 * `ApiUnreachable` if there was no usable response, and with the signal's reason once it is aborted.
 */
export interface KubeClient {
  get<T extends KubeObject>(type: ResourceType<T>, name: ObjectName, signal?: AbortSignal): Promise<Stored<T>>;
  list<T extends KubeObject>(type: ResourceType<T>, options?: ListOptions, signal?: AbortSignal): Promise<KubeList<T>>;
  /**
   * Yields events in the server's order. Ends without an error if the server ends the watch regularly; throws
   * `ApiUnreachable` if the connection broke or a line could not be parsed, so that no event is dropped silently.
   */
  watch<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Stored<T>>;
  replace<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Stored<T>>;
  patch<T extends KubeObject>(
    type: ResourceType<T>,
    name: ObjectName,
    patch: Patch,
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Stored<T>>;
  delete<T extends KubeObject>(
    type: ResourceType<T>,
    name: ObjectName,
    options?: DeleteOptions,
    signal?: AbortSignal,
  ): Promise<void>;
}
