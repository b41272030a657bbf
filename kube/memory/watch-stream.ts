import type { ServerResponse } from "node:http";
import type { KubeObject } from "../../api/meta.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { storedResource } from "./kind-registry.ts";
import type { Predicate } from "./selectors.ts";
import type { ServedKind } from "./served-kind.ts";
import { expired, StatusError } from "./status-errors.ts";
import type { Commit, Entry, Storage } from "./storage.ts";
import { viewOf } from "./views.ts";
import type { WatchHub } from "./watch-hub.ts";

/** How an object looks to a watch, and what the look is called: watches of one kind and look share the encoding. */
export interface Look {
  readonly name: string;
  readonly encode: (entry: Entry) => string;
}

export const wholeObject: Look = { name: "object", encode: ({ json }) => json };

export interface WatchRequest {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  /** Undefined or 0: first everything that is there, as if it had just been added. */
  readonly resourceVersion: number | undefined;
  /** First everything that is there, then a bookmark that says so. */
  readonly sendInitialEvents: boolean;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly matches: Predicate;
  readonly look: Look;
}

export interface WatchLimits {
  /** A watch whose client is further behind than so many bytes is cut off. */
  readonly bufferedBytesMax: number;
  readonly bookmarkEveryMs: number;
}

const defaultTimeoutMs = 45 * 60_000;
// How long a client that was cut off may take to read why.
const farewellMs = 5_000;

type EventType = Commit["type"];

// Each event is encoded once for all watches that look at it in the same way.
const encodedEvents = new WeakMap<Entry, Map<string, string>>();

function eventLine(type: EventType, entry: Entry, look: Look): string {
  let lines = encodedEvents.get(entry);
  if (!lines) {
    lines = new Map();
    encodedEvents.set(entry, lines);
  }
  const name = `${type} ${look.name}`;
  let line = lines.get(name);
  if (line === undefined) {
    line = `{"type":"${type}","object":${look.encode(entry)}}\n`;
    lines.set(name, line);
  }
  return line;
}

/** Streams the events of one watch into a response until its time is over, its client leaves or falls behind. */
export class WatchStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #request: WatchRequest;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  readonly #timers: Timer[] = [];
  #subscription: Disposable | undefined;
  #ended = false;

  constructor(response: ServerResponse, request: WatchRequest, storage: Storage, clock: Clock, limits: WatchLimits) {
    this.#response = response;
    this.#request = request;
    this.#storage = storage;
    this.#clock = clock;
    this.#limits = limits;
  }

  start(hub: WatchHub): void {
    const response = this.#response;
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
    response.on("close", () => this[Symbol.dispose]());
    const { kind, resourceVersion, timeoutSeconds } = this.#request;
    const resource = storedResource(kind);
    try {
      if (this.#request.sendInitialEvents || !resourceVersion) this.#sendEverything(resource);
      else for (const commit of hub.since(resource, resourceVersion)) this.#send(commit);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return this.#cutOff(error);
    }
    this.#subscription = hub.listen(resource, (commit) => this.#sendOrCutOff(commit));
    if (this.#ended) return this[Symbol.dispose]();
    const lifetimeMs = timeoutSeconds === undefined ? defaultTimeoutMs : timeoutSeconds * 1_000;
    this.#timers.push(this.#clock.after(lifetimeMs, () => this.end()));
    this.#bookmarkLater();
  }

  /** Ends the watch in good order, with a last bookmark for whoever wants them. */
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

  #sendEverything(resource: string): void {
    const { namespace, matches, look, sendInitialEvents } = this.#request;
    for (const stored of this.#storage.list(resource, namespace)) {
      const entry = viewOf(this.#request.kind, stored);
      if (matches(entry.object)) this.#write(eventLine("ADDED", entry, look));
    }
    if (sendInitialEvents) this.#bookmark({ annotations: { "k8s.io/initial-events-end": "true" } });
  }

  /** An object that cannot be told in this version ends the watch, and must not disturb whoever wrote it. */
  #sendOrCutOff(commit: Commit): void {
    try {
      this.#send(commit);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#cutOff(error);
    }
  }

  #send(commit: Commit): void {
    const { kind, namespace, matches, look, resourceVersion } = this.#request;
    const { type, version } = commit;
    const entry = viewOf(kind, commit.entry);
    const previous = commit.previous && viewOf(kind, commit.previous);
    // A version from the future is waited for.
    if (resourceVersion !== undefined && version <= resourceVersion) return;
    if (namespace !== undefined && entry.object.metadata.namespace !== namespace) return;
    const seen = previous !== undefined && matches(previous.object);
    const sees = type !== "DELETED" && matches(entry.object);
    if (sees) this.#write(eventLine(seen ? "MODIFIED" : "ADDED", entry, look));
    else if (seen) this.#write(eventLine("DELETED", type === "DELETED" ? entry : leaving(previous, version), look));
  }

  #bookmarkLater(): void {
    if (!this.#request.bookmarks) return;
    this.#timers[1] = this.#clock.after(this.#limits.bookmarkEveryMs, () => {
      this.#bookmark();
      this.#bookmarkLater();
    });
  }

  #bookmark(extra: KubeObject["metadata"] = {}): void {
    const { bookmarks, kind, sendInitialEvents, resourceVersion } = this.#request;
    if (!bookmarks && !sendInitialEvents) return;
    const version = String(Math.max(this.#storage.version, resourceVersion ?? 0));
    const object: KubeObject = {
      kind: kind.type.kind,
      apiVersion: apiVersionOf(kind.type),
      metadata: { resourceVersion: version, ...extra },
    };
    this.#write(`{"type":"BOOKMARK","object":${JSON.stringify(object)}}\n`);
  }

  #write(line: string): void {
    if (this.#ended) return;
    this.#response.write(line);
    if (this.#response.writableLength > this.#limits.bufferedBytesMax) {
      this.#cutOff(expired("the watch fell too far behind"));
    }
  }

  #cutOff(error: StatusError): void {
    this[Symbol.dispose]();
    this.#response.end(`{"type":"ERROR","object":${JSON.stringify(error.status)}}\n`);
    this.#clock.after(farewellMs, () => this.#response.destroy());
  }
}

/** The last look at an object that does not match any more, under the version at which it stopped. */
function leaving({ object }: Entry, version: number): Entry {
  const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  return { object: last, json: JSON.stringify(last) };
}
