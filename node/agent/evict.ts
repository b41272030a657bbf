import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import { chooseVictims, type Evictable, type Wanted } from "./decide/victims.ts";
import type { Doors } from "./doors/doors.ts";
import type { View } from "./observe.ts";
import { type ImageKey, readKey, textOf } from "./store/image-key.ts";

/** The images of Pods that are gone, and which no Pod may get that asks; the oldest first. Their files are not looked at: there may be thousands. */
export async function findEvictable(
  except: ImageKey,
  { view, doors }: { readonly view: View; readonly doors: Pick<Doors, "store"> },
): Promise<readonly Evictable[]> {
  const sizes = await doors.store.sizes.all();
  const found = sizes.flatMap(({ bytes, key }): readonly Evictable[] => {
    const memoryImage = view.memoryImage(key);
    if (textOf(key) === textOf(except) || !memoryImage || !isAsleep(memoryImage, key, view)) return [];
    return [{ memoryImage, text: textOf(key), bytes }];
  });
  return found.sort((one, other) => capturedAt(one).localeCompare(capturedAt(other)));
}

const capturedAt = ({ memoryImage }: Evictable): string => memoryImage.status?.capturedAt ?? "";

function isAsleep({ spec, status }: Stored<MemoryImage>, key: ImageKey, view: View): boolean {
  if (status?.phase !== "Captured" || status.restore || view.podByUid(spec.podUID)) return false;
  const { metadata } = view.podByName(key.namespace, key.pod) ?? {};
  const isAskedFor = metadata?.annotations?.[memoryImageAnnotation] === key.image;
  // The shim does not restore a Pod that it has refused, which may run for ever.
  return !isAskedFor || metadata.uid === status.refused?.podUID;
}

/** As `chooseVictims`, of those that are whole and unused by what the disk says now. */
export async function chooseUnused(
  evictable: readonly Evictable[],
  wanted: Wanted,
  store: Pick<Doors["store"], "read">,
): Promise<readonly Evictable[] | undefined> {
  const used = new Set<Evictable>();
  for (;;) {
    const victims = chooseVictims(
      evictable.filter((image) => !used.has(image)),
      wanted,
    );
    const usedBefore = used.size;
    for (const victim of victims ?? []) {
      const { image, marks } = await store.read(readKey(victim.text));
      if (!image || marks.length > 0) used.add(victim);
    }
    if (used.size === usedBefore) return victims;
  }
}
