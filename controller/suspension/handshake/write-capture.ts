import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { givenUpAnnotation } from "../../../api/rules/keys.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";
import { containerImagesOf } from "../hibernation/container-images.ts";
import type { BeginCapture, GiveUpCapture } from "./decide-suspension.ts";

interface CaptureWrites {
  readonly client: KubeClient;
  /** Undefined: no step is about an image. */
  readonly images?: OwnWrites<MemoryImage, "sandboxUid"> | undefined;
  /** Those of the sandbox. */
  readonly pods: readonly Stored<Pod>[];
}

/**
 * Writes the step of a capture. To give up has the version that was seen: either the capture had ended before, or it
 * counts no more. After a conflict the newer version is in view.
 */
export async function writeCapture(
  step: BeginCapture | GiveUpCapture,
  { client, images, pods }: CaptureWrites,
  signal: AbortSignal,
): Promise<void> {
  const { image } = step;
  const { namespace, name, uid, resourceVersion } = image.metadata;
  const at = { namespace, name };
  const pod = pods.find((one) => one.metadata.uid === image.spec.podUID);
  // Without them no Pod goes on from the memory.
  const containerImages = pod && containerImagesOf(pod);
  const body =
    step.do === "capture"
      ? { metadata: { uid }, spec: { stage: "Capture", ...(containerImages && { containerImages }) } }
      : { metadata: { resourceVersion, annotations: { [givenUpAnnotation]: step.why } } };
  const show = (call: () => Promise<Stored<MemoryImage>>) => images?.write(keyOf(image), call);
  try {
    await images?.patch(image, body, () => client.patch(memoryImageType, at, { type: "merge", body }, {}, signal));
  } catch (error) {
    if (isNotFound(error)) return images?.delete(image, async () => {});
    if (!isConflict(error)) throw error;
    await show(() => client.get(memoryImageType, at, signal));
  }
}
