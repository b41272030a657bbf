// The marks that the agent makes, as the shim makes those of Pods. The maker of the mark of an image has the image.
import type { Files } from "../doors/files.ts";

/** The end of the file that becomes the mark of an image which goes for another one. It is made with the image. */
export const usedUpEnd = ".used-up";

/** The mark of a use by nobody. */
export const usedUp = { pod: "", container: "", outcome: "refused", reason: "the node needed the room" };

const unasked =
  "the Pod runs, and the shim of its node was not asked for the memory: containerd does not pass the annotations of the Pod, or uses another shim";

export async function markUsedUp(image: string, files: Files): Promise<void> {
  const mark = `${image}.json`;
  const made = files.link(`${image}${usedUpEnd}`, mark).catch(async (error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
    await files.create(mark, JSON.stringify(usedUp)); // an earlier agent has made the image
  });
  await made.catch(ignoreTaken);
}

/** For a Pod that lives anew although it was to go on from the image. */
export async function markUnasked(image: string, pod: string, files: Files): Promise<void> {
  const mark = JSON.stringify({ ...usedUp, pod, reason: unasked });
  await files.create(`${image}.json`, mark).catch(ignoreTaken);
}

function ignoreTaken(error: unknown): void {
  if (!hasCode(error, "EEXIST")) throw error;
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
