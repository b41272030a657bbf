// Which images make room for another one.
import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import type { Doors } from "./doors/doors.ts";
import type { View } from "./observe.ts";
import { type ImageKey, textOf } from "./store/image-key.ts";

/** An image that may go: nobody uses it now. */
export interface Evictable {
  readonly memoryImage: Stored<MemoryImage>;
  readonly text: string;
  readonly bytes: number;
}

/** The images of Pods that are gone, and which no Pod asks for; the oldest first. */
export async function findEvictable(
  except: ImageKey,
  { view, doors }: { readonly view: View; readonly doors: Pick<Doors, "store"> },
): Promise<readonly Evictable[]> {
  const found: Evictable[] = [];
  for (const key of await doors.store.keys()) {
    const memoryImage = view.memoryImage(key);
    if (textOf(key) === textOf(except) || !memoryImage || !isAsleep(memoryImage, key, view)) continue;
    const { image, marks } = await doors.store.read(key);
    if (image && marks.length === 0) found.push({ memoryImage, text: textOf(key), bytes: image.bytes });
  }
  return found.sort((one, other) => capturedAt(one).localeCompare(capturedAt(other)));
}

const capturedAt = ({ memoryImage }: Evictable): string => memoryImage.status?.capturedAt ?? "";

function isAsleep({ spec, status }: Stored<MemoryImage>, key: ImageKey, view: View): boolean {
  if (status?.phase !== "Captured" || status.restore || view.podByUid(spec.podUID)) return false;
  return view.podByName(key.namespace, key.pod)?.metadata.annotations?.[memoryImageAnnotation] !== key.image;
}

export const bytesOf = (some: readonly Evictable[]): number => some.reduce((sum, { bytes }) => sum + bytes, 0);

export const ofNamespace = (some: readonly Evictable[], namespace: string): readonly Evictable[] =>
  some.filter(({ memoryImage }) => memoryImage.metadata.namespace === namespace);

export interface Wanted {
  /** What is to become free on the node. */
  readonly bytes: number;
  /** What is to become free of the share of this namespace. */
  readonly namespaceBytes: number;
  readonly namespace: string;
}

/**
 * The oldest ones, until they free as many bytes; undefined: not even all of them do. What a namespace has beyond its share comes from
 * its own images, and these count for the node too.
 */
export function chooseVictims(evictable: readonly Evictable[], wanted: Wanted): readonly Evictable[] | undefined {
  const own = oldest(ofNamespace(evictable, wanted.namespace), wanted.namespaceBytes);
  const others = evictable.filter((image) => !own.includes(image));
  const victims = [...own, ...oldest(others, wanted.bytes - bytesOf(own))];
  const isEnough = bytesOf(own) >= wanted.namespaceBytes && bytesOf(victims) >= wanted.bytes;
  return isEnough ? victims : undefined;
}

function oldest(images: readonly Evictable[], bytes: number): readonly Evictable[] {
  const chosen: Evictable[] = [];
  let freedBytes = 0;
  for (const image of images) {
    if (freedBytes >= bytes) break;
    chosen.push(image);
    freedBytes += image.bytes;
  }
  return chosen;
}
