import type { KubeObject, Stored } from "../api/meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { startTask } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import { ChangeFeed } from "./change-feed.ts";
import type { KubeClient, Selection, WatchEvent } from "./client.ts";
import { ApiError, ApiUnreachable } from "./errors.ts";
import { IndexedStore, type Indexes } from "./indexed-store.ts";
import type { Informer } from "./informer.ts";
import { listEverything } from "./list-everything.ts";
import { RetryPauses } from "./retry-pauses.ts";

export interface InformerOptions<T extends KubeObject, I extends string> extends Selection {
  readonly client: KubeClient;
  readonly type: ResourceType<T>;
  readonly indexes: Indexes<T, I>;
  /**
   * Makes what is stored from what was sent, to save memory; it returns a changed copy. Name, namespace, uid and
   * resourceVersion stay.
   */
  readonly transform?: (object: Stored<T>) => Stored<T>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Freezes what is stored, so that a test finds whoever changes it. */
  readonly frozen?: boolean;
}

/**
 * A server that allows bookmarks sends one about every minute, at most 75 s apart. Longer silence is a connection
 * whose far end is gone without a word, or a kind of which the server has seen nothing since its own start: it then
 * sends no bookmarks either. Both end in a new watch from the same version, which misses nothing and is not the work
 * that a list is. It stays well below the two minutes after which the activator no longer trusts an address.
 */
export const silenceLimitMs = 100_000;
// An API server ends a watch after 30 to 60 minutes of its own accord. Ending it sooner, and not all at the same
// moment, lets the watches spread over its replicas again after one was restarted.
const watchSeconds = { min: 300, max: 600 };
// A watch that ended sooner than this and told nothing is a failure, whatever it looked like.
const shortWatchMs = 5_000;

/** Starts to follow an API server. `synced` stays pending for as long as no list works, and for ever once disposed of. */
export function startInformer<T extends KubeObject, I extends string = never>(
  options: InformerOptions<T, I>,
): Informer<T, I> {
  const store = new IndexedStore<T, I>(options.indexes, { frozen: options.frozen ?? false });
  const feed = new ChangeFeed<T, I>(store, options.log);
  const synced = Promise.withResolvers<void>();
  const reflection = new Reflection(options, feed, synced.resolve);
  const task = startTask(`the informer of ${options.type.plural}`, (signal) => reflection.follow(signal));
  return {
    store,
    synced: synced.promise,
    onChange: (listener) => feed.onChange(listener),
    silentMs: () => reflection.silentMs(),
    failed: task.failed,
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** How far we have followed the server, and what comes next: a list while `#version` is unknown, else a watch. */
class Reflection<T extends KubeObject, I extends string> {
  readonly #options: InformerOptions<T, I>;
  readonly #selection: Selection;
  readonly #feed: ChangeFeed<T, I>;
  readonly #onListed: () => void;
  #version: string | undefined;
  #heardMs: number;

  constructor(options: InformerOptions<T, I>, feed: ChangeFeed<T, I>, onListed: () => void) {
    const { namespace, labelSelector, fieldSelector } = options;
    this.#options = options;
    this.#selection = { namespace, labelSelector, fieldSelector };
    this.#feed = feed;
    this.#onListed = onListed;
    this.#heardMs = options.clock.ticksMs();
  }

  silentMs(): number {
    return this.#options.clock.ticksMs() - this.#heardMs;
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
      const pauseMs = pauses.failed();
      log.warn(
        { err: failure, kind: type.kind, failures: pauses.failures },
        "the API server could not be followed; trying again",
      );
      // A server that forgot our version is there and well: the list that it asks for need not wait, but for the next one.
      const mayList = watched && this.#version === undefined && !relisted;
      if (mayList) relisted = true;
      else await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  /**
   * One list or one watch. Only a watch is fruitful: a list that works, followed by a watch that never does, must not
   * become a list ten times a second.
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
      return { fruitful: false, failure: new ApiUnreachable("a watch ended at once and told nothing") };
    } catch (failure) {
      if (failure instanceof SilentWatch) return { fruitful: true };
      const result = { failure, fruitful: fruitful() };
      if (needsList(failure)) this.#version = undefined;
      return result;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, type } = this.#options;
    const { items, resourceVersion } = await listEverything(client, type, this.#selection, signal);
    this.#heard();
    this.#feed.replaceAll(items.map((item) => this.#toStored(item)));
    this.#version = resourceVersion;
    this.#onListed();
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, type } = this.#options;
    using silence = this.#limitSilence();
    const timeoutSeconds = Math.round(watchSeconds.min + Math.random() * (watchSeconds.max - watchSeconds.min));
    const events = client.watch(
      type,
      { ...this.#selection, resourceVersion, timeoutSeconds, allowBookmarks: true, onOpen: () => this.#heard() },
      AbortSignal.any([signal, silence.signal]),
    );
    for await (const event of events) {
      this.#heard();
      this.#take(event);
    }
    this.#heard(); // only a living server ends a watch in good order
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === "ERROR") throw new ApiError(event.object.code ?? 500, event.object);
    if (event.type === "DELETED") this.#feed.unset(event.object);
    else if (event.type !== "BOOKMARK") this.#feed.set(this.#toStored(event.object));
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
  }

  #toStored(object: Stored<T>): Stored<T> {
    return this.#options.transform?.(object) ?? object;
  }

  #heard(): void {
    this.#heardMs = this.#options.clock.ticksMs();
  }

  /** A signal that is aborted once nothing was heard for too long, counted from now. */
  #limitSilence(): { readonly signal: AbortSignal } & Disposable {
    const { clock, type } = this.#options;
    const silent = new AbortController();
    const beganMs = clock.ticksMs();
    let timer: Timer;
    // One timer that looks again is cheaper than one that every event sets anew.
    const look = () => {
      const leftMs = Math.max(this.#heardMs, beganMs) + silenceLimitMs - clock.ticksMs();
      if (leftMs > 0) timer = clock.after(leftMs, look);
      else silent.abort(new SilentWatch(`the watch of ${type.plural} said nothing for ${silenceLimitMs / 1000} s`));
    };
    look();
    return { signal: silent.signal, [Symbol.dispose]: () => timer.cancel() };
  }
}

class SilentWatch extends ApiUnreachable {}

/** Whether the version that we have is no longer of use. A broken connection leaves it good. */
function needsList(error: unknown): boolean {
  // Beside 410 there are answers such as "too large resource version" after a restored backup, from which no watch
  // ever recovers. A server that is overloaded recovers, and a list would only add to its load.
  return error instanceof ApiError && error.code !== 429 && error.code !== 503;
}
