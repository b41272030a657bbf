// What a MemoryImage means to the controller.
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { givenUpAnnotation, memoryImageAnnotation } from "../../../api/rules/keys.ts";

/** One image for each Pod: the name follows from the Pod's UID, so it is never made twice. */
export const imageNameOf = (podUid: string): string => `pod-${podUid}`;

/** The image of this Pod; undefined: there is none. */
export const imageOfPod = (images: readonly Stored<MemoryImage>[], podUid: string): Stored<MemoryImage> | undefined =>
  images.find(({ spec }) => spec.podUID === podUid);

/** The name of the image that a Pod is to be restored from. */
export const restoredFrom = ({ annotations }: ObjectMeta): string | undefined => annotations?.[memoryImageAnnotation];

/** Why an image is not to be used, in one word. */
export const givenUp = ({ metadata }: MemoryImage): string | undefined => metadata.annotations?.[givenUpAnnotation];

/** Whether an image holds memory that no Pod has been given yet. A capture that ended after it was given up does not count. */
export const holdsMemory = (image: MemoryImage): boolean =>
  image.spec.stage === "Capture" && image.status?.phase === "Captured" && givenUp(image) === undefined;

type Restore = NonNullable<NonNullable<MemoryImage["status"]>["restore"]>;

/**
 * What the node's agent says that this Pod got from the image; undefined: nothing yet. That another Pod was refused, which somebody else
 * made, says nothing about the memory.
 */
export function restoreOf({ status }: MemoryImage, podUid: string): Restore | undefined {
  const { refused, restore } = status ?? {};
  if (restore?.podUID === podUid) return restore;
  return refused?.podUID === podUid ? { podUID: podUid, outcome: "Refused", reason: refused.reason } : undefined;
}

/** Whether an image was made for this very Sandbox, and not for a former one of the same name. */
export const isOf = ({ spec }: MemoryImage, sandbox: Stored<Sandbox>): boolean =>
  spec.sandboxUID === sandbox.metadata.uid;
