import { getHeapStatistics } from "node:v8";
import { measureJson } from "../../lib/data/json-parts.ts";

/**
 * Memory for each opening bracket and comma of a JSON text, besides its bytes: `{},` is 3 bytes of text and 66 of heap.
 * Measured as what the heap has more after `JSON.parse`, `Object.freeze` and a collection of garbage, for 100,000 members of each shape in Node 24:
 * 33 bytes for each of these characters with `{}`, 96 with `{"KEY":0}` under ever new keys, 107 with `{"1000":0}`, and 92 for each new
 * short key of one object. The text counts besides.
 */
const bytesForEachPart = 100;

/** What an object counts in the quota: about the memory that it takes, whatever its shape is. */
export function weightOf(json: string): number {
  const bytes = Buffer.from(json);
  return bytes.length + measureJson(bytes).parts * bytesForEachPart;
}

/** The objects as such, their texts, views in another version, the history of watches, and a start take up to eight times the weight. */
const heapShare = 8;

/** The largest quota. A list is one text, and Node has none of more than 512 MiB (2^29 characters). */
export const quotaBytesMax = 480 * 1024 * 1024;

/** How much weight of objects fits into the heap of this process, also at the next start. */
export const quotaForHeap = (heapBytesMax: number = getHeapStatistics().heap_size_limit): number =>
  Math.min(Math.floor(heapBytesMax / heapShare), quotaBytesMax);

/**
 * Whether a write fits. The last tenth is kept for changes of the objects that there are: their status and their deletion
 * need a little. `grown`: by how much the write makes the objects heavier.
 */
export function fitsQuota(
  quotaBytes: number,
  { weight, grown, isNew }: { readonly weight: number; readonly grown: number; readonly isNew: boolean },
): boolean {
  return grown <= 0 || weight + grown <= (isNew ? quotaBytes * 0.9 : quotaBytes);
}
