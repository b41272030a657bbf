import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { isEvicted } from "../../../api/rules/evicted-memory.ts";
import { givenUp, holdsMemory, imageOfPod } from "./images.ts";
import type { MemoryRefusal, SeenImages } from "./memory-provider.ts";

/** How much longer than the agent the controller waits for the end of a capture: the agent thaws the Pod first. */
const captureGraceMs = 5_000;

/** How long a captured Pod waits until the status tells of its memory. */
const tellLimitMs = 30_000;

/** How far the capture of a sealed Pod is. */
export type Capture =
  /** Nothing is to be captured. */
  | { readonly is: "none" }
  /** It may begin. */
  | { readonly is: "due"; readonly image: Stored<MemoryImage> }
  /** The Pod is, or will be, frozen. */
  | { readonly is: "underWay"; readonly image: Stored<MemoryImage>; readonly leftMs: number }
  /** The memory is on the disk, or never will be. `kept`: it is on the disk, and for how long the status may take to tell of it. */
  | { readonly is: "over"; readonly kept?: { readonly image: Stored<MemoryImage>; readonly leftMs: number } };

/** `refusal`: why the memory of this Pod cannot be kept. It speaks only against a capture that has not begun. */
export function captureOf(seen: SeenImages | undefined, podUid: string, refusal: MemoryRefusal | undefined): Capture {
  const image = seen && imageOfPod(seen.images, podUid);
  if (!image) return { is: "none" };
  const { stage, timeoutSeconds } = image.spec;
  const { phase } = image.status ?? {};
  const isUnusable = givenUp(image) !== undefined || image.metadata.deletionTimestamp !== undefined;
  if (stage === "Preflight") return refusal || isUnusable ? { is: "none" } : { is: "due", image };
  if (isUnusable) return { is: "over" };
  if (holdsMemory(image)) return { is: "over", kept: { image, leftMs: tellLimitMs - seen.waitedMs } };
  if (phase !== undefined && phase !== "Capturing") return { is: "over" };
  return { is: "underWay", image, leftMs: timeoutSeconds * 1_000 + captureGraceMs - seen.waitedMs };
}

/** Whether the Pod may be frozen, so that it must be deleted, whatever happens. */
export const hasBegun = (capture: Capture | undefined): boolean => capture?.is === "underWay" || capture?.is === "over";

/** Why a capture that is over has left no memory; undefined: it has, or no capture has begun. */
export function captureFailure(image: MemoryImage): MemoryRefusal | undefined {
  if (givenUp(image) === "AgentSilent") {
    return { reason: "AgentSilent", message: "the node agent did not end the capture in time" };
  }
  if (givenUp(image) === "NotRecorded") {
    return { reason: "NotRecorded", message: "the status could not report the memory in time" };
  }
  const { phase, reason, message } = image.status ?? {};
  if (isEvicted(image)) return { reason: "Evicted", message: "the node needed the room for another memory image" };
  if (phase === "Lost") return { reason: "ImageLost", message: said("the node has lost the memory", reason, message) };
  if (phase !== "Failed") return undefined;
  return { reason: "CaptureFailed", message: said("the capture failed", reason, message) };
}

/** What happened, with the words of the agent. */
export const said = (what: string, ...words: readonly (string | undefined)[]): string =>
  [what, ...words.filter((word) => word !== undefined && word !== "")].join(": ");
