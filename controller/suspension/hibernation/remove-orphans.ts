import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Running, startTask } from "../../../lib/process/lifecycle.ts";
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
 * Removes the images whose Sandbox is gone. The garbage collector removes most of them, by their owner. A Sandbox that was deleted with
 * `--cascade=orphan` leaves images without an owner, and their files would stay on the nodes for ever.
 */
export function startOrphanRemoval(options: OrphanRemovalOptions): Running {
  const { clock, log } = options;
  const removal = new OrphanRemoval(options);
  return startTask("the removal of orphaned images", async (signal) => {
    while (!signal.aborted) {
      try {
        await removal.round(signal);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "cannot look for orphaned memory images");
      }
      await clock.sleep(lookEveryMs, signal).catch(() => {});
    }
  });
}

class OrphanRemoval {
  readonly #options: OrphanRemovalOptions;
  /** Since when the Sandbox of an image is not there, by the UID of the image. */
  readonly #missing = new Map<string, number>();

  constructor(options: OrphanRemovalOptions) {
    this.#options = options;
  }

  async round(signal: AbortSignal): Promise<void> {
    const { clock, images, exists, log } = this.#options;
    const nowMs = clock.ticksMs();
    const orphans = images.list().filter(({ spec }) => !exists(spec.sandboxUID));
    const uids = new Set(orphans.map(({ metadata }) => metadata.uid));
    for (const uid of this.#missing.keys()) if (!uids.has(uid)) this.#missing.delete(uid);
    for (const image of orphans) {
      const sinceMs = this.#missing.get(image.metadata.uid) ?? nowMs;
      this.#missing.set(image.metadata.uid, sinceMs);
      if (nowMs - sinceMs < patienceMs || image.metadata.deletionTimestamp) continue;
      await this.#remove(image, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error, image: keyOf(image) }, "cannot remove an orphaned memory image");
      });
    }
  }

  async #remove(image: Stored<MemoryImage>, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const { namespace, name, uid, resourceVersion } = image.metadata;
    const { sandboxUID } = image.spec;
    // The store may stand still for longer than the patience, while the API server fails.
    const { items } = await client.list(sandboxType, { namespace }, signal);
    if (items.some(({ metadata }) => metadata.uid === sandboxUID)) return;
    try {
      await client.delete(memoryImageType, { namespace, name }, { preconditions: { uid, resourceVersion } }, signal);
      log.info({ image: keyOf(image), sandboxUid: sandboxUID }, "removed a memory image whose Sandbox is gone");
    } catch (error) {
      // A conflict: it has changed, and is looked at again.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
