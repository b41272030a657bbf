import { isLaterVersion, type KubeObject, type Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { Logger } from "../../lib/log/log.ts";
import { startTask } from "../../lib/process/lifecycle.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import { type ClockReading, hasJumped, readClocks } from "../../lib/time/clock-jumps.ts";
import { piecesFromNow } from "../../lib/time/piece.ts";
import type { KubeClient, Selection, WatchEvent, WatchReading } from "../client/client.ts";
import { AnswerTooLarge, ApiError, ApiUnreachable, isKindMissing, mayPass } from "../client/errors.ts";
import { listEverything, PageSize } from "../client/list-everything.ts";
import { ChangeFeed } from "./change-feed.ts";
import { IndexedStore, type Indexes } from "./indexed-store.ts";
import type { Informer, Trouble, Written } from "./informer.ts";
import { RetryPauses } from "./retry-pauses.ts";
import { OutdatedWatch, SilentWatch, WatchMonitor } from "./watch-monitor.ts";

export interface InformerOptions<T extends KubeObject, I extends string> extends Selection {
  readonly client: KubeClient;
  readonly type: ResourceType<T>;
  readonly indexes: Indexes<T, I>;
  /**
   * Reduces a received object to its stored form, to save memory; it returns a changed copy. Name, namespace, uid and
   * resourceVersion stay.
   */
  readonly transform?: (object: Stored<T>) => Stored<T>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Freezes stored objects, so that a test detects changes of them. */
  readonly frozen?: boolean;
}

// An API server ends a watch after 30 to 60 minutes. Ending it earlier, and at different times, lets the watches spread
// over its replicas again after a restart of one.
const watchSeconds = { min: 300, max: 600 };
// A watch that ended earlier than this without an event is a failure.
const shortWatchMs = 5_000;
/**
 * A server opens a watch and only then says that the version is too old. So an open watch is no sign of life by itself; one that has
 * stayed open for so long is. A kind without bookmarks gives no other sign.
 */
export const acceptedAfterMs = 2_000;

/** Starts to follow an API server. `synced` stays pending until a list succeeds, and for ever once disposed. */
export function startInformer<T extends KubeObject, I extends string = never>(
  options: InformerOptions<T, I>,
): Informer<T, I> {
  const store = new IndexedStore<T, I>(options.indexes, { frozen: options.frozen ?? false });
  const feed = new ChangeFeed<T, I>(store);
  const synced = Promise.withResolvers<void>();
  const reflection = new Reflection(options, feed, synced.resolve);
  const task = startTask(`the informer of ${options.type.plural}`, (signal) => reflection.follow(signal));
  return {
    kind: options.type.kind,
    store,
    synced: synced.promise,
    onChange: (listener) => feed.onChange(listener),
    silentMs: (now) => reflection.silentMs(now),
    hasSeen: (written) => reflection.hasSeen(written),
    trouble: () => reflection.trouble(),
    failed: task.failed,
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** The state of following the server, and the next step: a list while `#version` is unknown, else a watch. */
class Reflection<T extends KubeObject, I extends string> {
  readonly #options: InformerOptions<T, I>;
  readonly #selection: Selection;
  readonly #feed: ChangeFeed<T, I>;
  readonly #onListed: () => void;
  #version: string | undefined;
  /** Kept also when a list fails: the next list starts with pages that fit. */
  readonly #pageSize = new PageSize();
  /** The last moment whose state was received. Never later: an answer that waited while the process stood still is old. */
  #received: ClockReading;
  /** Monotonic times since when the last list, and the last list, event or bookmark, can have been sent. An open watch alone is none. */
  #listedMs = Number.NEGATIVE_INFINITY;
  #progressMs = Number.NEGATIVE_INFINITY;
  #monitor: WatchMonitor | undefined;
  #trouble: { readonly is: Trouble["is"]; readonly sinceMs: number } | undefined;

  constructor(options: InformerOptions<T, I>, feed: ChangeFeed<T, I>, onListed: () => void) {
    const { namespace, labelSelector, fieldSelector } = options;
    this.#options = options;
    this.#selection = { namespace, labelSelector, fieldSelector };
    this.#feed = feed;
    this.#onListed = onListed;
    this.#received = readClocks(options.clock);
  }

  /** Monotonic time stands still while a machine is paused, so a jump counts as silence until a new list or watch. */
  silentMs(now: ClockReading = readClocks(this.#options.clock)): number {
    const forMs = now.ticksMs - this.#received.ticksMs;
    if (!hasJumped(this.#received, now)) return forMs;
    this.#monitor?.endIfJumped(); // a corrected clock looks the same, and costs no more than this
    return Math.max(forMs, now.wallMs - this.#received.wallMs);
  }

  hasSeen({ atMs, version }: Written): boolean {
    if (this.#listedMs > atMs) return true;
    const reached = this.#version;
    if (version === undefined || reached === undefined) return this.#progressMs > atMs;
    if (reached === version || isLaterVersion(reached, version)) return true;
    return !isLaterVersion(version, reached) && this.#progressMs > atMs; // versions that cannot be compared
  }

  trouble(): Trouble | undefined {
    const trouble = this.#trouble;
    return trouble && { is: trouble.is, forMs: this.#options.clock.ticksMs() - trouble.sinceMs };
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log, type } = this.#options;
    const pauses = new RetryPauses(clock);
    let relisted = false;
    while (!signal.aborted) {
      const watched = this.#version !== undefined;
      const { failure, fruitful } = await this.#step(signal);
      if (fruitful) {
        pauses.succeeded();
        relisted = false;
      }
      if (signal.aborted || failure === undefined) continue;
      this.#markTrouble(failure);
      const pauseMs = pauses.failed();
      log.warn({ err: failure, kind: type.kind, failures: pauses.failures }, "a list or watch failed; retrying");
      // A server that has expired our version is healthy: the list that it requires needs no pause, but a second one in
      // a row does.
      const mayList = watched && this.#version === undefined && !relisted;
      if (mayList) relisted = true;
      else await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  /**
   * One list or one watch. Only a watch is fruitful: a successful list before a watch that always fails must not be
   * repeated ten times a second.
   */
  async #step(signal: AbortSignal): Promise<{ readonly failure?: unknown; readonly fruitful: boolean }> {
    const { clock } = this.#options;
    const beganMs = clock.ticksMs();
    const version = this.#version;
    const fruitful = () =>
      version !== undefined && (this.#version !== version || clock.ticksMs() - beganMs >= shortWatchMs);
    try {
      if (version === undefined) {
        await this.#list(signal);
        return { fruitful: false };
      }
      await this.#watch(version, signal);
      if (fruitful()) return { fruitful: true };
      return { fruitful: false, failure: new ApiUnreachable("a watch ended at once without an event") };
    } catch (failure) {
      if (failure instanceof OutdatedWatch) this.#version = undefined;
      if (failure instanceof SilentWatch) return { fruitful: true };
      const result = { failure, fruitful: fruitful() };
      if (needsList(failure)) this.#version = undefined;
      return result;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, clock, type } = this.#options;
    const asked = readClocks(clock);
    const selection = { ...this.#selection, pageSize: this.#pageSize };
    const { items, resourceVersion } = await listEverything(client, type, selection, signal);
    await this.#feed.replaceAll(items, { toStored: (item) => this.#toStored(item), rest: piecesFromNow(clock) });
    this.#markReceived(asked, asked); // the pages may have taken minutes, and show the state of the first
    this.#version = resourceVersion;
    this.#listedMs = this.#progressMs = asked.ticksMs;
    this.#onListed();
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, clock, type } = this.#options;
    using monitor = new WatchMonitor({ clock, plural: type.plural, received: () => this.#received });
    this.#monitor = monitor;
    using accepted = new DisposableStack();
    let acceptance: Timer | undefined;
    const onOpen = () => {
      const opened = monitor.sentSince;
      acceptance = accepted.use(clock.after(acceptedAfterMs, () => this.#markReceived(monitor.began, opened)));
    };
    const reading: WatchReading = {
      arrived: () => {
        acceptance?.cancel(); // its events say it, once they are in the store
        return monitor.sentSince;
      },
      paused: (isPaused) => monitor.paused(isPaused),
    };
    const timeoutSeconds = Math.round(watchSeconds.min + Math.random() * (watchSeconds.max - watchSeconds.min));
    const events = client.watch(
      type,
      { ...this.#selection, resourceVersion, timeoutSeconds, allowBookmarks: true, onOpen, reading },
      AbortSignal.any([signal, monitor.signal]),
    );
    let received = this.#received;
    try {
      for await (const event of events) {
        if (event.type === "ERROR") throw new ApiError(event.object.code ?? 500, event.object);
        const sentSince = event.sentSince ?? monitor.sentSince;
        if (!monitor.signal.aborted) this.#markReceived(monitor.began, sentSince);
        received = this.#received;
        this.#take(event);
        this.#progressMs = sentSince.ticksMs;
      }
    } catch (error) {
      // The server did not accept the version after all.
      if (needsList(error)) this.#received = received;
      throw error;
    }
  }

  #take(event: Exclude<WatchEvent<T>, { readonly type: "ERROR" }>): void {
    if (event.type === "DELETED") this.#feed.unset(event.object);
    else if (event.type !== "BOOKMARK") this.#feed.set(this.#toStored(event.object));
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
  }

  #toStored(object: Stored<T>): Stored<T> {
    return this.#options.transform?.(object) ?? object;
  }

  /**
   * `asked`: when the list or watch began. Across a jump of the clock, what is received may have waited for hours. `of`: the moment
   * whose state was received.
   */
  #markReceived(asked: ClockReading, of: ClockReading): void {
    const isLater = of.ticksMs >= this.#received.ticksMs; // a message may come before the watch counts as accepted
    if (isLater && !hasJumped(asked, readClocks(this.#options.clock))) this.#received = of;
    this.#trouble = undefined;
  }

  #markTrouble(failure: unknown): void {
    const is = sortOf(failure);
    if (this.#trouble?.is !== is) this.#trouble = { is, sinceMs: this.#options.clock.ticksMs() };
  }
}

/** Whether the current version is no longer usable. It stays usable after a broken connection. */
function needsList(error: unknown): boolean {
  // Besides 410 there are errors such as "too large resource version" after a restored backup, from which no watch
  // recovers. An overloaded server recovers, and a list would add to its load.
  return error instanceof ApiError && error.code !== 429 && error.code !== 503;
}

function sortOf(failure: unknown): Trouble["is"] {
  if (isKindMissing(failure)) return "missing";
  if (failure instanceof AnswerTooLarge) return "refused";
  if (!(failure instanceof ApiError)) return "failed";
  return failure.code < 400 || mayPass(failure) ? "failed" : "refused";
}
