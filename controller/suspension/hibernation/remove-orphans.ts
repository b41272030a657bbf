import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
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
  const { clock, images, exists, log } = options;
  /** Since when the Sandbox of an image is not there, by the UID of the image. */
  const missing = new Map<string, number>();
  return startTask("the removal of orphaned images", async (signal) => {
    while (!signal.aborted) {
      const nowMs = clock.ticksMs();
      const orphans = images.list().filter(({ spec }) => !exists(spec.sandboxUID));
      const uids = new Set(orphans.map(({ metadata }) => metadata.uid));
      for (const uid of missing.keys()) if (!uids.has(uid)) missing.delete(uid);
      for (const image of orphans) {
        const sinceMs = missing.get(image.metadata.uid) ?? nowMs;
        missing.set(image.metadata.uid, sinceMs);
        if (nowMs - sinceMs < patienceMs || image.metadata.deletionTimestamp) continue;
        await remove(image, options, signal).catch((error: unknown) => {
          if (!signal.aborted) log.warn({ err: error, image: keyOf(image) }, "cannot remove an orphaned memory image");
        });
      }
      await clock.sleep(lookEveryMs, signal).catch(() => {});
    }
  });
}

async function remove(image: Stored<MemoryImage>, { client, log }: OrphanRemovalOptions, signal: AbortSignal) {
  const { namespace, name, uid } = image.metadata;
  try {
    await client.delete(memoryImageType, { namespace, name }, { preconditions: { uid } }, signal);
    log.info(
      { image: keyOf(image), sandboxUid: image.spec.sandboxUID },
      "removed a memory image whose Sandbox is gone",
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
