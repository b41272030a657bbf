import type { RestoreOutcome } from "../../../api/kinds/memory-image.ts";
import type { OnDisk } from "../store/image-store.ts";
import { isEnding, type Observed } from "./observed.ts";

/** What became of the one use of an image. */
export interface Use {
  readonly podUID: string;
  readonly outcome: RestoreOutcome;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly durationMs: number;
}

/** A restore whose sandbox gVisor does not have, and whose marks have not changed for so long, was interrupted. */
const interruptedAfterMs = 60_000;

/** Whether the agent has used up an image, so that no Pod can. A mark that a shim has only begun to write is no refusal. */
export const isUsedUp = ({ marks }: Pick<OnDisk, "marks">): boolean =>
  marks.some(({ name, pod, outcome }) => name === "" && pod === "" && outcome === "refused");

/** Undefined if the image is not used, or the restore goes on. */
export function useOf(observed: Observed): Use | undefined {
  const { disk, user } = observed;
  if (isUsedUp(disk)) return undefined;
  const ofPod = disk.marks.find(({ name }) => name === "");
  if (!ofPod) return undefined;
  const beganMs = Math.min(...disk.marks.map((mark) => mark.beganMs));
  const writtenMs = Math.max(...disk.marks.map((mark) => mark.writtenMs));
  const use = (outcome: RestoreOutcome, reason?: string, message?: string): Use => ({
    podUID: ofPod.pod || (user?.metadata.uid ?? ""),
    outcome,
    reason,
    message,
    durationMs: Math.max(0, Math.round(writtenMs - beganMs)),
  });
  const refused = disk.marks.find(({ outcome }) => outcome === "refused");
  if (refused) return use("Refused", "ImageRefused", refused.reason);
  const failed = disk.marks.find(({ outcome }) => outcome === "failed");
  if (failed) return use("Failed", "RestoreFailed", failed.reason);
  const wanted = ["", ...(disk.image?.containers ?? [])];
  const restored = disk.marks.filter(({ outcome }) => outcome === "restored").map(({ name }) => name);
  if (disk.marks.length === restored.length && wanted.every((name) => restored.includes(name))) return use("Restored");
  return isInterrupted(observed)
    ? use("Failed", "RestoreInterrupted", "the Pod ended before its memory was restored")
    : undefined;
}

/**
 * gVisor goes on with a restore, whatever the API says, and its answer lags. The kubelet may give a Pod a second sandbox, which starts anew:
 * what counts is the one that the marks name.
 */
function isInterrupted({ markedForMs, user, userSandbox }: Observed): boolean {
  if (userSandbox?.sentry) return false;
  return (user !== undefined && isEnding(user)) || markedForMs > interruptedAfterMs;
}
