import { podType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { givenUpAnnotation, signatureAnnotation, signingGate, usedByAnnotation } from "../../../api/rules/keys.ts";
import {
  type ApiError,
  isAlreadyExists,
  isDryRunUnsupported,
  isRejected,
  isRejectedForGood,
} from "../../../kube/client/errors.ts";
import { permitFor } from "../../suspension/hibernation/permit.ts";
import type { LossReason, MemorySource } from "../../suspension/hibernation/restore.ts";
import type { Action } from "../actions.ts";
import { fieldManager, writerOf } from "./child-writer.ts";
import type { SandboxWriters } from "./sandbox-writers.ts";

export interface PodCreation {
  readonly writers: Pick<SandboxWriters, "client" | "pods" | "images" | "signPermit">;
  readonly onCreated: () => void;
  readonly signal: AbortSignal;
}

/** The memory is given up: the API server rejects the Pod that was to go on from it, and not one without it. */
export class GivenUp {
  /** What the API server says. */
  readonly rejection: string;

  constructor(rejection: string) {
    this.rejection = rejection;
  }
}

/**
 * A Pod that is to be restored is signed for the UID that it has got, and only then loses its gate. Its image is promised to it before that, with
 * the version that was decided on. As long as the gated Pod is there, no other Pod of the sandbox lives, so it is the memory of the last life. And
 * whatever ends then, and whatever became of that Pod, no other goes on from the image.
 */
export async function createPod(
  { pod, from }: Extract<Action, { do: "createPod" }>,
  on: PodCreation,
): Promise<Stored<Pod> | "done" | "clashed" | GivenUp> {
  const { client, pods, signPermit } = on.writers;
  const to = writerOf(client, podType, on.signal);
  const create = () => to.create(pods, pod, on.onCreated);
  if (!from) return create();
  const created = await orGiveUp(create, from, on);
  if (created === "clashed" || created instanceof GivenUp) return created;
  const permit = permitFor(created, from.image);
  const signature = permit && signPermit?.(permit);
  if (signature === undefined) throw new Error("the Pod cannot be signed: the content of its memory image is unknown");
  const promised = await promise(from.image, created, on);
  if (promised === "clashed") return "clashed";
  const sign = () => to.patch(pods, created, signedPatch(created, signature));
  return orGiveUp(sign, { ...from, image: promised }, on);
}

/** Writes which Pod alone may go on from an image. */
async function promise(
  image: Stored<MemoryImage>,
  { metadata: { uid } }: Stored<Pod>,
  { writers: { client, images }, signal }: PodCreation,
): Promise<Stored<MemoryImage> | "clashed"> {
  if (!images) return image;
  return writerOf(client, memoryImageType, signal).patch(images, image, usedPatch(image, uid));
}

/** With the version that the create returned: not for a Pod that has changed since, nor for another of that name. */
const signedPatch = ({ metadata: { resourceVersion }, spec }: Stored<Pod>, signature: string) => ({
  metadata: { resourceVersion, annotations: { [signatureAnnotation]: signature } },
  spec: { schedulingGates: spec?.schedulingGates?.filter(({ name }) => name !== signingGate) ?? null },
});

/** With the version that was seen: not if it was given up, evicted or promised meanwhile. `podUid`: null takes the promise back. */
export const usedPatch = ({ metadata: { resourceVersion } }: Stored<MemoryImage>, podUid: string | null) => ({
  metadata: { resourceVersion, annotations: { [usedByAnnotation]: podUid } },
});

/** With the version that was seen: not if the memory is another one by now. */
export const giveUpPatch = ({ metadata }: Stored<MemoryImage>, why: LossReason) => ({
  metadata: { resourceVersion: metadata.resourceVersion, annotations: { [givenUpAnnotation]: why } },
});

/**
 * Writes a Pod that goes on from memory. A policy of the cluster may reject it for what only such a Pod has, as images that are named by
 * digest. Such a sandbox would never wake. So its memory is given up, but only if the Pod without it is accepted, and if this one is
 * rejected again after that: what both depend on may have come in between.
 */
async function orGiveUp<T>(
  write: () => Promise<T>,
  { image, anew }: MemorySource,
  { writers: { client, images }, signal }: PodCreation,
): Promise<T | "clashed" | GivenUp> {
  try {
    return await write();
  } catch (error) {
    signal.throwIfAborted();
    if (!images || !isRejectedForGood(error)) throw error;
    await tryWithoutMemory(anew, error, { client, signal });
  }
  try {
    return await write();
  } catch (error) {
    signal.throwIfAborted();
    if (!isRejectedForGood(error)) throw error;
    const to = writerOf(client, memoryImageType, signal);
    const given = await to.patch(images, image, giveUpPatch(image, "PodRejected"));
    return given === "clashed" ? given : new GivenUp(error.message);
  }
}

/**
 * Has the API server try the Pod without memory, and make nothing. Where a webhook has no dry runs nobody can know more, so the Pod counts as
 * accepted: else the sandbox would never wake.
 *
 * @throws what the API server says against it, as of each Pod. If it cannot say it now, an error that may pass.
 */
async function tryWithoutMemory(
  pod: Pod,
  rejection: ApiError,
  { client, signal }: { readonly client: SandboxWriters["client"]; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await client.create(podType, pod, { fieldManager, dryRun: true }, signal);
  } catch (error) {
    signal.throwIfAborted();
    // The name is looked at last.
    if (isAlreadyExists(error) || isDryRunUnsupported(error)) return;
    if (isRejected(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const message = `${rejection.message}; whether a Pod without the memory would be accepted is not known: ${why}`;
    throw new Error(message, { cause: error });
  }
}
