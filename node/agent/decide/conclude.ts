import type { MemoryImageStatus } from "../../../api/kinds/memory-image.ts";
import { standsFor } from "../store/store-file.ts";
import { isGivenUp, type Observed } from "./observed.ts";
import { type RefusalReason, refusalOf } from "./refusal.ts";
import { useOf } from "./use.ts";

/** The API takes no longer ones. */
export const longestMessage = 1_000;

/** Whether nothing more happens to an image. A Pod may still try to use one that the node has lost. */
export const isOver = ({ phase, restore }: MemoryImageStatus): boolean =>
  phase === "Failed" || phase === "Restored" || (phase === "Lost" && restore !== undefined);

/** What the API should say of an image whose node has nothing left to do; undefined: what it says. */
export function conclude(observed: Observed): MemoryImageStatus | undefined {
  const { disk, failed, memoryImage } = observed;
  const { stage } = memoryImage?.spec ?? {};
  const status = memoryImage?.status ?? {};
  if (!memoryImage) return undefined;
  const refused = concludeRefused(observed, status);
  // A Pod may ask for an image that another one has used.
  if (isOver(status)) return refused;
  if (failed) return { ...status, phase: "Failed", reason: failed.reason, message: failed.message };
  if (refused) return refused;
  const used = concludeUse(observed, status);
  if (used || status.phase === "Lost") return used;
  if (status.phase === "Captured") {
    if (disk.image || disk.marks.length > 0) return undefined;
    // The memory may be on a disk that is not mounted.
    if (status.storeID !== undefined && !standsFor(observed.store, status.storeID)) return undefined;
    return {
      ...status,
      phase: "Lost",
      reason: "ImageMissing",
      message: "the memory image is not on the node any more",
    };
  }
  if (disk.image?.podUID === memoryImage.spec.podUID) return captured(observed, status);
  if (stage === "Capture") return concludeCapture(observed, status);
  return concludePreflight(observed, status);
}

function captured({ disk: { image }, store }: Observed, status: MemoryImageStatus): MemoryImageStatus | undefined {
  if (!image) return undefined;
  const { bytes, imageHash, runsc, capturedAt, durations } = image;
  return {
    ...status,
    phase: "Captured",
    bytes,
    imageHash,
    runscVersion: runsc,
    storeID: store.id,
    capturedAt,
    durations,
  };
}

function concludeUse(observed: Observed, status: MemoryImageStatus): MemoryImageStatus | undefined {
  const use = useOf(observed);
  if (!use) return undefined;
  const { podUID, outcome, reason, message, durationMs } = use;
  const restore = { podUID, outcome, durationMs, ...(reason !== undefined && { reason }) };
  const lost = {
    ...status,
    phase: "Lost",
    ...(reason !== undefined && { reason }),
    ...(message && { message }),
  } as const;
  // A shim had only begun to write its mark, and nothing tells for which Pod.
  if (podUID === "") return status.phase === "Lost" ? undefined : lost;
  if (outcome === "Restored") return { ...status, phase: "Restored", restore };
  return { ...lost, restore };
}

/** It is told whose Pod that was: only the controller knows whether it was its own. */
function concludeRefused({ disk }: Observed, status: MemoryImageStatus): MemoryImageStatus | undefined {
  const { refused } = disk;
  if (!refused || (status.refused?.podUID === refused.pod && status.refused.reason === refused.reason))
    return undefined;
  const { message, pod: podUID, reason } = refused;
  return { ...status, refused: { podUID, reason, message: message.slice(0, longestMessage) } };
}

function concludeCapture(observed: Observed, status: MemoryImageStatus): MemoryImageStatus | undefined {
  if (isGivenUp(observed.memoryImage)) return undefined;
  const refusal = refusalOf(observed);
  if (refusal) return { ...status, phase: "Failed", ...refusal };
  return status.phase === undefined ? { ...status, phase: "Capturing", storeID: observed.store.id } : undefined;
}

/** A Pod that the watch has not shown yet, or that goes. An answer would only be a write more. */
const passing: readonly RefusalReason[] = ["PodNotFound", "PodEnding"];

function concludePreflight(observed: Observed, status: MemoryImageStatus): MemoryImageStatus | undefined {
  const refusal = refusalOf(observed);
  const { capturable, reason } = status.preflight ?? {};
  if (refusal && passing.includes(refusal.reason)) return undefined;
  if (refusal?.reason === "PodNotRunning" && capturable === undefined) return undefined;
  if (capturable === (refusal === undefined) && reason === refusal?.reason) return undefined;
  return { ...status, preflight: { capturable: refusal === undefined, ...refusal } };
}
