// Which images make room for another one.
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";

/** An image that may go: nobody uses it now. */
export interface Evictable {
  readonly memoryImage: Stored<MemoryImage>;
  readonly text: string;
  readonly bytes: number;
}

export const bytesOf = (some: readonly Evictable[]): number => some.reduce((sum, { bytes }) => sum + bytes, 0);

export interface Wanted {
  readonly namespace: string;
  /** What is to become free on the node. */
  readonly bytes: number;
  /** What is to become free of the share of this namespace. */
  readonly namespaceBytes: number;
  /** What may go for that. It is counted up to whole images: the last one may be larger than the rest. */
  readonly most: {
    readonly bytes: number;
    /** Of images of other namespaces. */
    readonly ofOthersBytes: number;
    /** For the share. */
    readonly namespaceBytes: number;
  };
}

/**
 * The oldest ones, until they free as many bytes; undefined: not even all that may go do. What a namespace has beyond its share comes
 * from its own images, and these count for the node too.
 */
export function chooseVictims(evictable: readonly Evictable[], wanted: Wanted): readonly Evictable[] | undefined {
  const { most, namespace } = wanted;
  const isOwn = ({ memoryImage }: Evictable) => memoryImage.metadata.namespace === namespace;
  const victims: Evictable[] = [];
  let [freedBytes, othersBytes] = [0, 0];
  const take = (images: readonly Evictable[], bytes: number) => {
    for (const image of images) {
      if (freedBytes >= bytes) break;
      if (!isOwn(image) && othersBytes >= most.ofOthersBytes) continue;
      victims.push(image);
      freedBytes += image.bytes;
      if (!isOwn(image)) othersBytes += image.bytes;
    }
  };
  take(evictable.filter(isOwn), Math.min(wanted.namespaceBytes, most.namespaceBytes));
  const isShareEnough = freedBytes >= wanted.namespaceBytes;
  const rest = evictable.filter((image) => !victims.includes(image));
  take(rest, Math.min(wanted.bytes, most.bytes));
  return isShareEnough && freedBytes >= wanted.bytes ? victims : undefined;
}
