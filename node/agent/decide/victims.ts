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
  /** What a namespace may take, and what each has. */
  readonly shareBytes: number;
  readonly byNamespace: ReadonlyMap<string, number>;
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
 * Until they free as many bytes, the oldest of namespaces that have more than their share, as long as they do, and then the oldest of all;
 * undefined: not even all that may go do. What the namespace itself has beyond its share comes from its own images, and these count for the node too.
 */
export function chooseVictims(evictable: readonly Evictable[], wanted: Wanted): readonly Evictable[] | undefined {
  const { byNamespace, most, shareBytes } = wanted;
  const isOwn = (image: Evictable) => namespaceOf(image) === wanted.namespace;
  const victims = new Set<Evictable>();
  const left = new Map(byNamespace);
  const leftOf = (image: Evictable) => left.get(namespaceOf(image)) ?? 0;
  let [freedBytes, othersBytes] = [0, 0];
  const take = (mayGo: (image: Evictable) => boolean, bytes: number) => {
    for (const image of evictable) {
      if (freedBytes >= bytes) break;
      if (victims.has(image) || !mayGo(image)) continue;
      if (!isOwn(image) && othersBytes >= most.ofOthersBytes) continue;
      victims.add(image);
      left.set(namespaceOf(image), leftOf(image) - image.bytes);
      freedBytes += image.bytes;
      if (!isOwn(image)) othersBytes += image.bytes;
    }
  };
  take(isOwn, Math.min(wanted.namespaceBytes, most.namespaceBytes));
  const isShareEnough = freedBytes >= wanted.namespaceBytes;
  const bytes = Math.min(wanted.bytes, most.bytes);
  take((image) => leftOf(image) > shareBytes, bytes);
  take(() => true, bytes);
  return isShareEnough && freedBytes >= wanted.bytes ? [...victims] : undefined;
}

const namespaceOf = ({ memoryImage }: Evictable): string => memoryImage.metadata.namespace ?? "";
