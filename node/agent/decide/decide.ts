import { isEvicted } from "../../../api/rules/evicted-memory.ts";
import { isOver } from "./conclude.ts";
import { endedAfterMs, isEnding, isGivenUp, type Observed } from "./observed.ts";
import { refusalOf } from "./refusal.ts";
import { isUsedUp, useOf } from "./use.ts";

/** One step on the node. Each can be repeated, and after each the pass begins anew. */
export type Step =
  /** Freeze the Pod and write its image. */
  | "capture"
  /** End a capture that did not reach its image. */
  | "give-up"
  | "remove-tombstone"
  | "thaw"
  | "remove-failed"
  /** Write down that the Pod must stay frozen: its image is about to go. */
  | "finalize"
  | "end-sentry"
  /** The same for the Pod that uses the image. */
  | "end-user-sentry"
  /** Take an image that goes from all Pods that may ask for it at this moment. */
  | "use-up"
  /** Write down that a Pod has its life without the memory, and without a word of the shim. */
  | "mark-anew"
  | "remove-image"
  | "remove-marks";

/** The next step on the node; undefined: there is nothing to do, and the API may be told. */
export function decide(observed: Observed): Step | undefined {
  if (observed.sandbox?.sentry && observed.endingMs > endedAfterMs(observed.pod)) return "end-sentry";
  if (mayWaitForEver(observed) && observed.holderEndingMs > holderEndsAfterMs(observed)) return "end-user-sentry";
  return observed.failed ? decideFailed(observed) : (decideCaptured(observed) ?? decideFiles(observed));
}

/** A capture has failed. First the image goes, then the tombstone, then the Pod runs again, then the API is told. */
function decideFailed({ disk, failed, isThawing, memoryImage, sandbox, tombstone }: Observed): Step | undefined {
  if (disk.image || disk.isPartial) return "remove-image";
  if (tombstone) return "remove-tombstone";
  // Of a torn one nobody knows whether it is frozen, and runsc could not let it go on.
  if (sandbox?.sentry && (failed?.isEnding || sandbox.isTorn)) return "end-sentry";
  if (sandbox?.sentry && sandbox.isPaused) {
    if (isThawing) return undefined;
    // Nobody knows whether gVisor still has the order to let it go on. A second one could end the kernel of the Pod at any time.
    return failed?.isThawing ? "end-sentry" : "thaw";
  }
  return !memoryImage || memoryImage.status?.phase === "Failed" ? "remove-failed" : undefined;
}

/** What the API was told once about an image that was whole. */
const wholePhases: readonly unknown[] = ["Captured", "Restored", "Lost"];

function decideCaptured(observed: Observed): Step | undefined {
  const { disk, memoryImage, pod, sandbox, tombstone } = observed;
  if (!tombstone) return mayCapture(observed) ? "capture" : undefined;
  const isWhole = disk.image !== undefined || tombstone.isFinal || wholePhases.includes(memoryImage?.status?.phase);
  if (!isWhole) return "give-up";
  if (sandbox?.sentry && isEnding(pod)) return "end-sentry";
  if (disk.image && isSpent(observed) && !tombstone.isFinal) return "finalize";
  return !disk.image && !pod && !sandbox?.sentry ? "remove-tombstone" : undefined;
}

function mayCapture(observed: Observed): boolean {
  const { disk, memoryImage } = observed;
  if (isGivenUp(memoryImage)) return false;
  if (memoryImage?.spec.stage !== "Capture" || memoryImage.status?.phase !== "Capturing") return false;
  return !disk.image && disk.marks.length === 0 && refusalOf(observed) === undefined;
}

/** Whether nobody can or may restore from the image any more. */
function isSpent(observed: Observed): boolean {
  const { disk, memoryImage, user } = observed;
  if (isUsedUp(disk)) return true;
  // A finalizer may keep the object of an image that is deleted. No Pod is made for it any more.
  if (!memoryImage || memoryImage.metadata.deletionTimestamp !== undefined)
    return useOf(observed) !== undefined || (disk.marks.length === 0 && !mayAsk(user, disk.refused));
  const { phase, restore } = memoryImage.status ?? {};
  // The verdict on a use needs the image, so it is told before the image goes.
  if (restore !== undefined || phase === "Failed") return true;
  // A Pod may use it at this moment. It has the image until the verdict is told.
  if (isEvicted(memoryImage)) return false;
  if (phase === "Lost") return true;
  return disk.image?.podUID !== memoryImage.spec.podUID;
}

/** A Pod that the shim has refused once is not restored later, and may run for ever. */
const mayAsk = (user: Observed["user"], refused: Observed["disk"]["refused"]): boolean =>
  !isEnding(user) && user?.metadata.uid !== refused?.pod;

/**
 * The rest of a Pod that is half restored waits for a container that does not come, so it may not end by itself. A Pod whose image
 * was refused runs anew, and counts too: it should have ended after its grace. A Pod that was deleted by force is gone from the API at
 * once, and its grace is not known: then only one that is half restored counts.
 */
export function mayWaitForEver(observed: Observed): boolean {
  const use = useOf(observed);
  const isDue = observed.holder ? use?.outcome !== "Restored" : use === undefined;
  return observed.userSandbox?.sentry !== undefined && isDue;
}

/**
 * When the sentry of such a Pod ends, from when the agent saw that the Pod is being deleted. Where nothing runs, nothing needs the grace: meanwhile
 * the name is taken, and the next Pod waits. A Pod that the watch does not show may be one that it does not show yet.
 */
export const holderEndsAfterMs = (observed: Observed): number =>
  observed.holder && runsNothing(observed) ? 0 : endedAfterMs(observed.holder);

/**
 * gVisor lets a Pod go on with its last container. One that is marked may be restored already: a shim on a full disk writes that down
 * later.
 */
function runsNothing(observed: Observed): boolean {
  const { image, marks } = observed.disk;
  const use = useOf(observed);
  if (use) return use.outcome === "Failed";
  return image?.containers.some((name) => !marks.some((mark) => mark.name === name)) ?? false;
}

/**
 * Whether a Pod that is to have the memory runs, and the shim says nothing about it: it was not asked. The Pod may get a second sandbox, whose shim
 * is asked, so the image must not be there for it.
 */
function livesUntold({ disk, isUserAlive, memoryImage, user }: Observed): boolean {
  if (!user || !isUserAlive || disk.marks.length > 0 || disk.refused?.pod === user.metadata.uid) return false;
  const { phase, refused } = memoryImage?.status ?? {};
  const isWaitedFor = (phase === "Captured" || phase === "Lost") && refused?.podUID !== user.metadata.uid;
  return disk.image !== undefined || (isWaitedFor && !isOver(memoryImage?.status ?? {}));
}

/** The image goes before its marks: an image without marks counts as unused. */
function decideFiles(observed: Observed): Step | undefined {
  const { disk, memoryImage, tombstone, user } = observed;
  if (livesUntold(observed)) return "mark-anew";
  const isUnused = disk.image !== undefined && disk.marks.length === 0;
  if (isUnused && memoryImage && isEvicted(memoryImage)) return "use-up";
  if (disk.image ? isSpent(observed) : disk.isPartial) return "remove-image";
  const isClean = disk.marks.length === 0 && !disk.hasLeftovers;
  if (disk.image || isClean || user || tombstone) return undefined;
  return !memoryImage || memoryImage.status?.restore || memoryImage.status?.phase === "Failed"
    ? "remove-marks"
    : undefined;
}
