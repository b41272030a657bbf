// Which MemoryImages a sandbox needs, after its Pod has been decided on.
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { apiVersionOf } from "../../../api/kinds/resource-type.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { effectiveOperatingMode, effectiveSuspensionStrategy } from "../../../api/rules/defaults.ts";
import { runHashAnnotation } from "../../../api/rules/keys.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import { controllerReference } from "../../ownership.ts";
import {
  holdsMemory,
  imageNameOf,
  imageOfPod,
  isUntoldLoss,
  isUsed,
  restoredFrom,
  restoreOf,
  usedBy,
} from "./images.ts";
import type { SeenImages } from "./memory-provider.ts";
import { refusalsOfSpec } from "./pod-rules.ts";
import { isToHibernate } from "./strategy.ts";

export interface ImagesQuestion {
  readonly sandbox: Stored<Sandbox>;
  /** The Pod that the sandbox controls. */
  readonly pod: Stored<Pod> | undefined;
  /** A member of a warm pool is never captured. */
  readonly isSpare: boolean;
  readonly seen: SeenImages;
}

export type ImageAction =
  | { readonly do: "createImage"; readonly image: MemoryImage }
  | { readonly do: "deleteImage"; readonly image: Stored<MemoryImage> };

/** A node agent accepts no more. */
const timeoutSecondsMax = 60;

export function decideImages(question: ImagesQuestion): readonly ImageAction[] {
  const { seen, pod } = question;
  const unneeded = seen.images.filter((image) => !image.metadata.deletionTimestamp && !isNeeded(image, question));
  const missing = pod && isCapturable(pod, question) ? [imageFor(question.sandbox, pod)] : [];
  return [
    ...unneeded.map((image) => ({ do: "deleteImage", image }) as const),
    ...missing.flatMap((image) => (image ? [{ do: "createImage", image } as const] : [])),
  ];
}

/** Asked for as soon as the Pod runs, so that the answer is there before a suspension. */
function isCapturable(pod: Stored<Pod>, { sandbox, isSpare, seen }: ImagesQuestion): boolean {
  if (isSpare || !isToHibernate(sandbox.spec) || effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  if (pod.metadata.deletionTimestamp || sealOf(sandbox) || pod.status?.phase !== "Running") return false;
  return imageOfPod(seen.images, pod.metadata.uid) === undefined && refusalsOfSpec(pod.spec ?? noSpec).length === 0;
}

const noSpec = { containers: [] };

function imageFor(sandbox: Stored<Sandbox>, { metadata, spec }: Stored<Pod>): MemoryImage | undefined {
  const runHash = metadata.annotations?.[runHashAnnotation];
  const { timeoutSeconds } = effectiveSuspensionStrategy(sandbox.spec);
  if (runHash === undefined || !spec?.nodeName) return undefined;
  const { blockOwnerDeletion: _, ...owner } = controllerReference(sandboxType, sandbox);
  const { namespace = "" } = metadata;
  return {
    apiVersion: apiVersionOf(memoryImageType),
    kind: memoryImageType.kind,
    metadata: { name: imageNameOf(metadata.uid), namespace, ownerReferences: [owner] },
    spec: {
      sandboxUID: sandbox.metadata.uid,
      podName: metadata.name,
      podUID: metadata.uid,
      nodeName: spec.nodeName,
      runHash,
      timeoutSeconds: Math.min(Math.max(timeoutSeconds, 1), timeoutSecondsMax),
      stage: "Preflight",
    },
  };
}

/** An image stays until the status has told what became of its memory. */
function isNeeded(image: Stored<MemoryImage>, { sandbox, pod, seen }: ImagesQuestion): boolean {
  const hibernates = isToHibernate(sandbox.spec);
  const { state, lastWake } = sandbox.status?.hibernation ?? {};
  if (pod?.metadata.uid === image.spec.podUID) return hibernates || image.spec.stage === "Capture";
  // The status tells first what becomes of memory that it has told of.
  if (!hibernates) return state === "Hibernated" || state === "Restoring";
  if (state === "Restoring") return true;
  if (pod && restoredFrom(pod.metadata) === image.metadata.name) {
    const isTold = restoreOf(image, pod.metadata.uid) !== undefined && state === undefined && lastWake !== undefined;
    return !isTold;
  }
  if (pod && state !== "Hibernated") return isUntoldLoss(image, sandbox.status?.hibernation, pod.metadata.uid);
  // Also once it is lost or given up: the status is still to tell why.
  const mayBeTold = image.spec.stage === "Capture" || effectiveOperatingMode(sandbox.spec) === "Running";
  if (state === "Hibernated") return mayBeTold && !isOutlived(image, pod, seen);
  return state === undefined;
}

/** Whether the Pod that could have it is gone without an answer, and there is memory of a later life. Its node may never answer. */
const isOutlived = (image: Stored<MemoryImage>, pod: Stored<Pod> | undefined, { images }: SeenImages): boolean =>
  usedBy(image) !== undefined &&
  usedBy(image) !== pod?.metadata.uid &&
  images.some((other) => holdsMemory(other) && !isUsed(other));
