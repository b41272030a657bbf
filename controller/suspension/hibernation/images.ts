// What a MemoryImage means to the controller.
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Hibernation, Sandbox } from "../../../api/kinds/sandbox.ts";
import {
  givenUpAnnotation,
  memoryImageAnnotation,
  signatureAnnotation,
  usedByAnnotation,
} from "../../../api/rules/keys.ts";

/** One image for each Pod: the name follows from the Pod's UID, so it is never made twice. */
export const imageNameOf = (podUid: string): string => `pod-${podUid}`;

/** The image of this Pod; undefined: there is none. */
export const imageOfPod = (images: readonly Stored<MemoryImage>[], podUid: string): Stored<MemoryImage> | undefined =>
  images.find(({ spec }) => spec.podUID === podUid);

/** The name of the image that a Pod is to be restored from. */
export const restoredFrom = ({ annotations }: ObjectMeta): string | undefined => annotations?.[memoryImageAnnotation];

/** Why an image is not to be used, in one word. */
export const givenUp = ({ metadata }: MemoryImage): string | undefined => metadata.annotations?.[givenUpAnnotation];

/** The UID of the Pod that may go on from an image, which may have lived since; undefined: there is none. */
export const usedBy = ({ metadata }: MemoryImage): string | undefined => metadata.annotations?.[usedByAnnotation];

/**
 * Whether a Pod may have gone on from an image, or has asked for it in vain and lived. A Pod without a signature is no Pod that the controller
 * has made for it.
 */
export const isUsed = (image: MemoryImage): boolean => {
  const { restore, refused } = image.status ?? {};
  return (
    usedBy(image) !== undefined || restore !== undefined || (refused !== undefined && refused.reason !== notSigned)
  );
};

/** The reason of the shim for a Pod without a signature. */
const notSigned = "NotSigned";

/** Whether the controller has made a Pod for an image. The shim verifies the signature. */
export const isSignedFor = ({ metadata }: Pod, image: Stored<MemoryImage>): boolean =>
  restoredFrom(metadata) === image.metadata.name && metadata.annotations?.[signatureAnnotation] !== undefined;

/** Whether an image holds memory that no Pod is known to have got. A capture that ended after it was given up does not count. */
export const holdsMemory = (image: MemoryImage): boolean =>
  image.spec.stage === "Capture" && image.status?.phase === "Captured" && givenUp(image) === undefined;

/**
 * Whether memory was given up that no status had told of. The wake of the Pod that was made without it tells that, once. Everything else that was
 * given up is told from the state before.
 */
export const isUntoldLoss = (image: MemoryImage, told: Hibernation | undefined, podUid: string | undefined): boolean =>
  givenUp(image) === "NotRecorded" &&
  image.spec.podUID !== podUid &&
  told?.state === undefined &&
  told?.lastWake?.podUID !== podUid;

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

/**
 * Whether an image was made for this very Sandbox, and not for a former one of the same name. Who may create MemoryImages in another namespace
 * can name any Sandbox in one.
 */
export const isOf = ({ metadata, spec }: Stored<MemoryImage>, sandbox: Stored<Sandbox>): boolean =>
  spec.sandboxUID === sandbox.metadata.uid && metadata.namespace === sandbox.metadata.namespace;
