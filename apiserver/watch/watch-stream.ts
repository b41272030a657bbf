import type { ServerResponse } from "node:http";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import type { Predicate } from "../http/selectors.ts";
import { storedResource } from "../kind-registry.ts";
import { viewOf } from "../objects/views.ts";
import type { ServedKind } from "../served-kind.ts";
import { expired, internalError, StatusError, tooLargeResourceVersion } from "../status-errors.ts";
import type { Commit, Entry, Storage } from "../storage/storage.ts";
import type { WatchHub } from "./watch-hub.ts";

/** The form of objects in a watch. */
export interface WatchEncoding {
  /** Watches of one kind share what an encoding with a name made. Without: it depends on the time, and each watch makes its own. */
  readonly name?: string;
  readonly encode: (entry: Entry) => string;
}

export const wholeObject: WatchEncoding = { name: "object", encode: ({ json }) => json };

export interface WatchRequest {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  /** Undefined or 0: first all existing objects, as ADDED events. */
  readonly resourceVersion: number | undefined;
  /** First all existing objects, then a bookmark that marks their end. */
  readonly sendInitialEvents: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly matches: Predicate;
  readonly encoding: WatchEncoding;
}

export interface WatchLimits {
  /** A watch with more unsent bytes than this is ended. */
  readonly bufferedBytesMax: number;
  readonly bookmarkEveryMs: number;
}

const defaultTimeoutMs = 45 * 60_000;
// The time for a client to read the error at the end of its watch.
const errorReadMs = 5_000;

export interface WatchStreamParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly limits: WatchLimits;
  /** Called after each write, and for each change that waits: so many bytes may be unsent now. It may drop this watch. */
  readonly wrote: (bytes: number) => void;
}

type EventType = Commit["type"];

// Each event is encoded once for all watches of a form with a name.
const encodedEvents = new WeakMap<Entry, Map<string, string>>();

function eventLine(type: EventType, entry: Entry, encoding: WatchEncoding): string {
  const encoded = () => `{"type":"${type}","object":${encoding.encode(entry)}}\n`;
  if (encoding.name === undefined) return encoded();
  let lines = encodedEvents.get(entry);
  if (!lines) {
    lines = new Map();
    encodedEvents.set(entry, lines);
  }
  const name = `${type} ${encoding.name}`;
  let line = lines.get(name);
  if (line === undefined) {
    line = encoded();
    lines.set(name, line);
  }
  return line;
}

/**
 * Streams the events of one watch into a response until its timeout, the client's disconnection, or a lag beyond the
 * limit.
 */
export class WatchStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #request: WatchRequest;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  readonly #wrote: (bytes: number) => void;
  readonly #timers: Timer[] = [];
  #subscription: Disposable | undefined;
  #ended = false;
  /** The events before those of changes; undefined once they are sent. */
  #first: Iterator<string> | undefined;
  /** Changes behind the first events. */
  #waiting: Commit[] = [];
  #waitingBytes = 0;

  constructor(response: ServerResponse, request: WatchRequest, { storage, clock, limits, wrote }: WatchStreamParts) {
    this.#response = response;
    this.#request = request;
    this.#storage = storage;
    this.#clock = clock;
    this.#limits = limits;
    this.#wrote = wrote;
  }

  /** What the client has not read, about. */
  get unsentBytes(): number {
    return this.#response.writableLength + this.#waitingBytes;
  }

  /** Ends the watch without a word: what the client has not read takes memory until its connection is closed. */
  drop(): void {
    this[Symbol.dispose]();
    this.#response.destroy();
  }

  start(hub: WatchHub): void {
    const response = this.#response;
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
    response.on("close", () => this[Symbol.dispose]());
    const { kind, timeoutSeconds } = this.#request;
    const resource = storedResource(kind);
    try {
      this.#first = this.#linesBefore(resource, hub);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return this.#cutOff(error);
    }
    this.#subscription = hub.listen(resource, (commit) => this.#receive(commit));
    this.#sendFirst();
    if (this.#ended) return this[Symbol.dispose]();
    const lifetimeMs = timeoutSeconds === undefined ? defaultTimeoutMs : timeoutSeconds * 1_000;
    this.#timers.push(this.#clock.after(lifetimeMs, () => this.end()));
    this.#bookmarkLater();
  }

  /** Ends the watch with a last bookmark, if requested. */
  end(): void {
    if (this.#ended) return;
    this.#bookmark();
    this[Symbol.dispose]();
    this.#response.end();
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#subscription?.[Symbol.dispose]();
    for (const timer of this.#timers) timer.cancel();
  }

  /** What comes before the changes that are still to be made. */
  #linesBefore(resource: string, hub: WatchHub): Iterator<string> {
    const { namespace, resourceVersion, sendInitialEvents } = this.#request;
    if (!sendInitialEvents && resourceVersion) return this.#changes(hub.since(resource, resourceVersion));
    // As a list that must be so new: its end would be marked with a version that was not reached.
    if (this.#isFuture) throw tooLargeResourceVersion(resourceVersion ?? 0, this.#storage.version);
    return this.#existing(this.#storage.list(resource, namespace), this.#storage.version);
  }

  *#existing(entries: readonly Entry[], version: number): Generator<string> {
    const { kind, matches, encoding, sendInitialEvents } = this.#request;
    for (const stored of entries) {
      const entry = viewOf(kind, stored);
      if (matches(entry.object)) yield eventLine("ADDED", entry, encoding);
    }
    if (sendInitialEvents) yield this.#bookmarkOf(version, { annotations: { "k8s.io/initial-events-end": "true" } });
  }

  *#changes(commits: readonly Commit[]): Generator<string> {
    for (const commit of commits) {
      const line = this.#lineOf(commit);
      if (line !== undefined) yield line;
    }
  }

  /**
   * Sends what comes first as fast as the client reads: there is no limit to its bytes. What changes meanwhile waits, up to the
   * limit of a watch that lags.
   */
  #sendFirst(): void {
    try {
      while (this.#first && !this.#ended) {
        const { value, done } = this.#first.next();
        if (done) this.#first = this.#takeWaiting();
        else {
          const isTaken = this.#response.write(value);
          this.#wrote(value.length);
          if (!isTaken) return void this.#response.once("drain", () => this.#sendFirst());
        }
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #takeWaiting(): Iterator<string> | undefined {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return waiting.length > 0 ? this.#changes(waiting) : undefined;
  }

  #receive(commit: Commit): void {
    if (!this.#first) return this.#sendOrCutOff(commit);
    this.#waiting.push(commit);
    const bytes = commit.entry.json.length;
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > this.#limits.bufferedBytesMax) this.#cutOff(tooFarBehind());
    this.#wrote(bytes);
  }

  /**
   * An object that cannot be converted to this version ends the watch, and must not affect its writer or other watches.
   */
  #sendOrCutOff(commit: Commit): void {
    try {
      const line = this.#lineOf(commit);
      if (line !== undefined) this.#write(line);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (error instanceof StatusError) return this.#cutOff(error);
    reportUnexpected("api-server", error);
    this.#cutOff(internalError("see the log of the API server"));
  }

  /** Undefined: the watch does not see the change. */
  #lineOf(commit: Commit): string | undefined {
    const { kind, namespace, matches, encoding, resourceVersion } = this.#request;
    const { type, version } = commit;
    const entry = viewOf(kind, commit.entry);
    const previous = commit.previous && viewOf(kind, commit.previous);
    // A watch from a future version skips earlier events.
    if (resourceVersion !== undefined && version <= resourceVersion) return undefined;
    if (namespace !== undefined && entry.object.metadata.namespace !== namespace) return undefined;
    const seen = previous !== undefined && matches(previous.object);
    const sees = type !== "DELETED" && matches(entry.object);
    if (sees) return eventLine(seen ? "MODIFIED" : "ADDED", entry, encoding);
    if (!seen) return undefined;
    return eventLine("DELETED", type === "DELETED" ? entry : leaving(previous, version), encoding);
  }

  #bookmarkLater(): void {
    // A client that does not read may have ended the watch with its bookmark.
    if (!this.#request.bookmarks || this.#ended) return;
    this.#timers[1] = this.#clock.after(this.#limits.bookmarkEveryMs, () => {
      this.#bookmark();
      this.#bookmarkLater();
    });
  }

  /**
   * None while the first events are sent: the client would skip the rest of them. And none before the version that the client asked
   * for is reached.
   */
  #bookmark(): void {
    const { bookmarks, sendInitialEvents } = this.#request;
    if (!(bookmarks || sendInitialEvents) || this.#first || this.#isFuture) return;
    this.#write(this.#bookmarkOf(this.#storage.version));
  }

  get #isFuture(): boolean {
    return (this.#request.resourceVersion ?? 0) > this.#storage.version;
  }

  #bookmarkOf(version: number, extra: KubeObject["metadata"] = {}): string {
    const { type } = this.#request.kind;
    const metadata = { resourceVersion: String(version), ...extra };
    const object: KubeObject = { kind: type.kind, apiVersion: apiVersionOf(type), metadata };
    return `{"type":"BOOKMARK","object":${JSON.stringify(object)}}\n`;
  }

  #write(line: string): void {
    if (this.#ended) return;
    this.#response.write(line);
    if (this.#response.writableLength > this.#limits.bufferedBytesMax) {
      this.#cutOff(tooFarBehind());
    }
    this.#wrote(line.length);
  }

  #cutOff(error: StatusError): void {
    this[Symbol.dispose]();
    this.#response.end(`{"type":"ERROR","object":${JSON.stringify(error.status)}}\n`);
    this.#clock.after(errorReadMs, () => this.#response.destroy());
  }
}

const tooFarBehind = () => expired("the watch fell too far behind");

/** The last state of an object that no longer matches, under the version of that change. */
function leaving({ object }: Entry, version: number): Entry {
  const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  return { object: last, json: JSON.stringify(last) };
}
