import type { Doors } from "../doors/doors.ts";
import type { FailedCapture } from "../store/records.ts";

/**
 * Ends a capture that has failed, as far as to the thaw: after this no image is left that the Pod could be restored from, so it
 * may run again. It can be repeated from any point on.
 */
export async function giveUp(failed: FailedCapture, { records, store }: Doors): Promise<void> {
  await store.removeImage(failed);
  await records.writeFailed(failed);
  await records.removeTombstone(failed.podUID);
}
