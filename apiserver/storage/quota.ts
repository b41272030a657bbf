import { getHeapStatistics } from "node:v8";

/** The objects as such, their texts, and those of the journal at a start take up to sixteen times the bytes of the objects. */
const heapShare = 16;

/** How many bytes of objects fit into the heap of this process, also at the next start. */
export const quotaForHeap = (heapBytesMax: number = getHeapStatistics().heap_size_limit): number =>
  Math.floor(heapBytesMax / heapShare);

/**
 * Whether a write fits. The last tenth is kept for changes of the objects that there are: their status and their deletion
 * need a little. `grownBytes`: by how much the write makes the objects longer.
 */
export function fitsQuota(
  quotaBytes: number,
  { bytes, grownBytes, isNew }: { readonly bytes: number; readonly grownBytes: number; readonly isNew: boolean },
): boolean {
  return grownBytes <= 0 || bytes + grownBytes <= (isNew ? quotaBytes * 0.9 : quotaBytes);
}
