import type { MemoryImage } from "../../../api/kinds/memory-image.ts";

/** The controller waits for 5 s longer than the limit of a capture. The rest of that is for the thaw and the reports. */
const spareMs = 2_000;
/** With less time a capture is not begun. */
const shortestLimitMs = 1_000;

/**
 * A capture that had to wait for others must end when the controller expects it: after that, nobody uses its memory.
 */
export const captureLimitMs = ({ spec }: MemoryImage, waitedMs: number): number =>
  spec.timeoutSeconds * 1_000 - Math.max(0, waitedMs - spareMs);

/** Nothing is begun for such a capture, and no other image goes for it. */
export const isTooLate = (image: MemoryImage, waitedMs: number): boolean =>
  captureLimitMs(image, waitedMs) < shortestLimitMs;
