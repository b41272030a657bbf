import type { Doors } from "../doors/doors.ts";
import type { PodSandbox } from "../doors/sandboxes.ts";
import type { FailedCapture } from "../store/records.ts";

/**
 * Ends a capture that has failed, as far as to the thaw: after this no image is left that the Pod could be restored from, so it
 * may run again. It can be repeated from any point on.
 */
async function giveUp(failed: FailedCapture, { records, store }: Doors): Promise<void> {
  await store.removeImage(failed);
  await records.writeFailed(failed);
  await records.removeTombstone(failed.podUID);
}

/**
 * The same, where the store may have become one that takes no new file. Then no record can say that the Pod runs again, so it ends with its sentry.
 * Returns whether there is a record.
 */
export async function giveUpOrEnd(
  failed: FailedCapture,
  sandbox: PodSandbox | undefined,
  doors: Doors,
): Promise<boolean> {
  try {
    await giveUp(failed, doors);
    return true;
  } catch (error) {
    await throwIfWritable(error, doors);
    if (sandbox?.sentry) await doors.sandboxes.end(sandbox);
    return false;
  }
}

/** Writes down what is about to be done to the Pod of a failed capture. Returns false if the store takes no new file. */
export async function noteFailed(failed: FailedCapture, doors: Doors): Promise<boolean> {
  try {
    await doors.records.writeFailed(failed);
    return true;
  } catch (error) {
    await throwIfWritable(error, doors);
    return false;
  }
}

async function throwIfWritable(error: unknown, { trial }: Pick<Doors, "trial">): Promise<void> {
  if ((await trial.again()) === "Writable") throw error;
}
