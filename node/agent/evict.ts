import type { MemoryImage } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { memoryImageAnnotation, usedByAnnotation } from "../../api/rules/keys.ts";
import type { ApplyParts } from "./apply.ts";
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
  const isCapturedThere = view.podByUid(spec.podUID)?.metadata.namespace === key.namespace;
  if (status?.phase !== "Captured" || status.restore || isCapturedThere) return false;
  const { metadata } = view.podByName(key.namespace, key.pod) ?? {};
  const isAskedFor = metadata?.annotations?.[memoryImageAnnotation] === key.image;
  // The shim does not restore a Pod that it has refused, which may run for ever.
  return !isAskedFor || metadata.uid === status.refused?.podUID;
}

interface Looks {
  readonly store: Pick<Doors["store"], "read">;
  readonly readPod: ApplyParts["readPod"];
}

/** Pods that one capture asks the API for. Somebody may have many images that are promised to Pods which never come. */
const mostAsked = 50;

/** As `chooseVictims`, of those that are whole and unused by what the disk says now, and whose promised Pod is gone. */
export async function chooseUnused(
  evictable: readonly Evictable[],
  wanted: Wanted,
  looks: Looks,
): Promise<readonly Evictable[] | undefined> {
  const used = new Set<Evictable>();
  const asking = { left: mostAsked };
  for (;;) {
    const victims = chooseVictims(
      evictable.filter((image) => !used.has(image)),
      wanted,
    );
    const usedBefore = used.size;
    for (const victim of victims ?? []) {
      const { image, marks } = await looks.store.read(readKey(victim.text));
      if (!image || marks.length > 0 || (await isPromised(victim, looks, asking))) used.add(victim);
    }
    if (used.size === usedBefore) return victims;
  }
}

/**
 * Whether the Pod that may have an image is still to come. The watch of this node does not show a Pod before the scheduler has chosen the node, so
 * the API is asked. It has the Pod from before the promise on. Without an answer, it is to come, and after many questions, or one without an
 * answer, no other is asked for.
 */
async function isPromised({ memoryImage }: Evictable, { readPod }: Looks, asking: { left: number }): Promise<boolean> {
  const { metadata, spec, status } = memoryImage;
  const uid = metadata.annotations?.[usedByAnnotation];
  if (uid === undefined || uid === status?.refused?.podUID) return false;
  if (asking.left === 0) return true;
  asking.left -= 1;
  const pod = await readPod({ namespace: metadata.namespace ?? "", name: spec.podName }).catch(
    () => "unknown" as const,
  );
  if (pod === "unknown") asking.left = 0;
  return pod === "unknown" || pod?.metadata.uid === uid;
}
