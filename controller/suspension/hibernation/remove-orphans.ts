import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { listEverything } from "../../../kube/client/list-everything.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Running, startTask } from "../../../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../../../lib/queues/backoff.ts";
import type { Clock } from "../../../lib/time/clock.ts";

export interface OrphanRemovalOptions {
  readonly client: KubeClient;
  readonly images: Pick<Store<MemoryImage>, "list">;
  /** Whether there is a Sandbox with this UID. */
  readonly exists: (sandboxUid: string) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

const lookEveryMs = 60_000;
/** A Sandbox that the watch has not shown yet appears in this time: a watch is begun anew after a silence of 100 s. */
const patienceMs = 300_000;
/**
 * The time of a namespace's turn: its list must end within it, and no removal begins after it. It grows after each failure, because a large
 * namespace may need more. The API server keeps a snapshot for 5 minutes.
 */
const turnMs = 30_000;
const turnMaxMs = 300_000;
const turn: Backoff = { baseMs: turnMs, maxMs: turnMaxMs, jitter: 0 };
/** The longest pause of a namespace whose turn failed. */
const pauseMaxMs = 3_600_000;
const backoff: Backoff = { baseMs: lookEveryMs, maxMs: pauseMaxMs, jitter: 0.2 };

/**
 * Removes the images whose Sandbox is gone. The garbage collector removes most of them, by their owner. A Sandbox that was deleted with
 * `--cascade=orphan` leaves images without an owner, and their files would stay on the nodes for ever.
 */
export function startOrphanRemoval(options: OrphanRemovalOptions): Running {
  const { clock, log } = options;
  const removal = new OrphanRemoval(options);
  return startTask("the removal of orphaned memory images", async (signal) => {
    while (!signal.aborted) {
      try {
        await removal.round(signal);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "cannot look for orphaned memory images; retrying");
      }
      await clock.sleep(lookEveryMs, signal).catch(() => {});
    }
  });
}

interface Missing {
  /** Since when the Sandbox is not there. */
  readonly sinceMs: number;
  /** When the image was last to be removed; 0: not yet. */
  triedMs: number;
}

interface Failing {
  readonly failures: number;
  readonly againMs: number;
}

/**
 * Namespaces take turns. A turn reads the Sandboxes of its namespace once for all of its images, in pages, and has a limit of time. A
 * namespace whose turn failed pauses, for longer after each failure, and comes after the others. So no namespace, however large, delays
 * the others for long.
 */
class OrphanRemoval {
  readonly #options: OrphanRemovalOptions;
  /** By the UID of the image. */
  readonly #missing = new Map<string, Missing>();
  readonly #failing = new Map<string, Failing>();

  constructor(options: OrphanRemovalOptions) {
    this.#options = options;
  }

  async round(signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.ticksMs();
    const orphans = this.#orphansByNamespace(nowMs);
    for (const namespace of this.#failing.keys()) if (!orphans.has(namespace)) this.#failing.delete(namespace);
    const due = [...orphans].filter(([namespace]) => nowMs >= (this.#failing.get(namespace)?.againMs ?? nowMs));
    for (const [namespace, images] of due.sort(([one], [other]) => this.#failuresOf(one) - this.#failuresOf(other))) {
      signal.throwIfAborted();
      await this.#turn(namespace, images, signal);
    }
  }

  #failuresOf(namespace: string): number {
    return this.#failing.get(namespace)?.failures ?? 0;
  }

  /** Those whose Sandbox has been gone for long enough; first those that were not tried yet. */
  #orphansByNamespace(nowMs: number): ReadonlyMap<string, readonly Stored<MemoryImage>[]> {
    const { images, exists } = this.#options;
    const orphans = images.list().filter(({ spec }) => !exists(spec.sandboxUID));
    const uids = new Set(orphans.map(({ metadata }) => metadata.uid));
    for (const uid of this.#missing.keys()) if (!uids.has(uid)) this.#missing.delete(uid);
    for (const uid of uids) if (!this.#missing.has(uid)) this.#missing.set(uid, { sinceMs: nowMs, triedMs: 0 });
    const found = new Map<string, Stored<MemoryImage>[]>();
    const triedMs = ({ metadata }: Stored<MemoryImage>) => this.#missing.get(metadata.uid)?.triedMs ?? 0;
    for (const image of orphans.sort((one, other) => triedMs(one) - triedMs(other))) {
      const { namespace = "", uid, deletionTimestamp } = image.metadata;
      const sinceMs = this.#missing.get(uid)?.sinceMs ?? nowMs;
      if (deletionTimestamp || nowMs - sinceMs < patienceMs) continue;
      const before = found.get(namespace);
      if (before) before.push(image);
      else found.set(namespace, [image]);
    }
    return found;
  }

  async #turn(namespace: string, images: readonly Stored<MemoryImage>[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.#removeOrphans(namespace, images, signal);
      this.#failing.delete(namespace);
    } catch (err) {
      if (signal.aborted) throw err;
      const failures = this.#failuresOf(namespace) + 1;
      this.#failing.set(namespace, { failures, againMs: clock.ticksMs() + backoffDelayMs(failures, backoff) });
      log.warn({ err, namespace, failures }, "cannot remove the orphaned memory images of a namespace; retrying");
    }
  }

  /** @throws the error of the list, or of the first image that could not be removed; then the others were tried too. */
  async #removeOrphans(namespace: string, images: readonly Stored<MemoryImage>[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const limitMs = backoffDelayMs(1 + this.#failuresOf(namespace), turn);
    const endMs = clock.ticksMs() + limitMs;
    const existing = await this.#sandboxesOf(namespace, limitMs, signal);
    const failures: unknown[] = [];
    for (const image of images) {
      // The others come first in the next turn.
      if (clock.ticksMs() >= endMs) break;
      if (existing.has(image.spec.sandboxUID)) continue;
      const missing = this.#missing.get(image.metadata.uid);
      if (missing) missing.triedMs = clock.ticksMs();
      await this.#remove(image, signal).catch((error: unknown) => failures.push(error));
      signal.throwIfAborted();
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Their UIDs, by a consistent read: the store may stand still for longer than the patience, while the API server fails. */
  async #sandboxesOf(namespace: string, limitMs: number, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { client, clock } = this.#options;
    const late = new AbortController();
    using _limit = clock.after(limitMs, () => late.abort(new Error(`the list took more than ${limitMs / 1_000} s`)));
    const within = AbortSignal.any([signal, late.signal]);
    const { items } = await listEverything(client, sandboxType, { namespace }, within);
    return new Set(items.map(({ metadata }) => metadata.uid));
  }

  async #remove(image: Stored<MemoryImage>, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const { namespace, name, uid, resourceVersion } = image.metadata;
    try {
      await client.delete(memoryImageType, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
      log.info(
        { image: keyOf(image), sandboxUid: image.spec.sandboxUID },
        "removed a memory image whose Sandbox is gone",
      );
    } catch (error) {
      // A conflict: it has changed, and is looked at again.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
