// From which memory the next Pod of a sandbox goes on, if from any.
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod, PodSpec } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { isEvicted } from "../../../api/rules/evicted-memory.ts";
import {
  memoryImageAnnotation,
  memoryStoreAnnotation,
  runHashAnnotation,
  signingGate,
} from "../../../api/rules/keys.ts";
import { withImages } from "./container-images.ts";
import { givenUp, holdsMemory, isSignedFor, isUsed, restoredFrom } from "./images.ts";
import type { SeenImages } from "./memory-provider.ts";
import { runHashOf } from "./run-hash.ts";
import { isToHibernate } from "./strategy.ts";

/** Why memory that was kept is not in the next Pod, in one word: the values of a metric label. */
export const lossReasons = [
  "StrategyChanged",
  "RunChanged",
  "NotRecorded",
  "SeveralImages",
  "AlreadyUsed",
  "ForeignPod",
  "NotScheduled",
  "ContainerImageUnknown",
  "ContainerImageMissing",
  "PodRejected",
  "NoSigningKey",
  "ImageLost",
  "Evicted",
  "RestoreFailed",
  "RestoreRefused",
  "NoProvider",
] as const;

export type LossReason = (typeof lossReasons)[number];

/** How long a Pod that is to be restored may wait for its node, until it is replaced by one that may run anywhere. */
export const scheduleLimitMs = 1_000;

/** What a Pod goes on from. */
export interface MemorySource {
  /** It must still be as it was seen when the Pod is signed: another leader may have given it up. */
  readonly image: Stored<MemoryImage>;
  /** The Pod without the memory. */
  readonly anew: Pod;
}

export interface NextPod {
  readonly pod: Pod;
  readonly from?: MemorySource;
  /** Images that must not be used any more, before this Pod exists. */
  readonly unusable: readonly { readonly image: Stored<MemoryImage>; readonly why: LossReason }[];
}

/**
 * The next Pod with its annotations. If it does not go on from an image, all images are given up before it is made: else a later Pod would
 * go on from memory that is older than the life between.
 */
export function nextPodOf(sandbox: Stored<Sandbox>, made: Pod, seen: SeenImages | undefined): NextPod {
  if (!seen) return { pod: made, unusable: [] };
  const hashed =
    isToHibernate(sandbox.spec) && made.spec ? annotated(made, runHashAnnotation, runHashOf(made.spec)) : made;
  const held = seen.images.filter(holdsMemory);
  const isAlone = held.filter((image) => !isUsed(image)).length <= 1;
  const canSign = seen.canSign ?? true;
  const judged = held.map((image) => ({
    image,
    why: objection(sandbox, hashed, image, isAlone) ?? (canSign ? undefined : "NoSigningKey"),
  }));
  const [usable] = judged.filter(({ why }) => why === undefined);
  if (usable)
    return { pod: restoring(hashed, usable.image), from: { image: usable.image, anew: hashed }, unusable: [] };
  return { pod: hashed, unusable: judged.flatMap(({ image, why }) => (why ? [{ image, why }] : [])) };
}

function objection(sandbox: Stored<Sandbox>, pod: Pod, image: MemoryImage, isAlone: boolean): LossReason | undefined {
  const { spec, status } = image;
  // A controller without hibernation may have run the sandbox meanwhile. Then the status does not tell of this memory.
  const { state } = sandbox.status?.hibernation ?? {};
  // A Pod that asked for it was on its node. Nobody knows whether it has lived.
  if (state === "Restoring") return "AlreadyUsed";
  if (state !== "Hibernated") return "NotRecorded";
  // Else it would go on from memory that is older than the life of that Pod.
  if (isUsed(image)) return "AlreadyUsed";
  if (!isAlone) return "SeveralImages";
  if (!isToHibernate(sandbox.spec)) return "StrategyChanged";
  // Without these there is nothing to sign.
  if (status?.imageHash === undefined || status.runscVersion === undefined) return "ImageLost";
  const { nodeName = spec.nodeName } = pod.spec ?? {};
  if (nodeName !== spec.nodeName) return "NotScheduled";
  const runs = pod.metadata.annotations?.[runHashAnnotation];
  if (runs !== spec.runHash || pod.metadata.name !== spec.podName) return "RunChanged";
  return pod.spec && !withImages(pod.spec, spec.containerImages ?? []) ? "ContainerImageUnknown" : undefined;
}

/** The images that must not be used any more, because these Pods live under the sandbox and were not made for them. */
export function outlived(
  sandbox: Stored<Sandbox>,
  pods: readonly Stored<Pod>[],
  seen: SeenImages | undefined,
): NextPod["unusable"] {
  const { state } = sandbox.status?.hibernation ?? {};
  const free = seen?.images.filter((image) => holdsMemory(image) && !isUsed(image)) ?? [];
  const beside = free.filter((image) =>
    pods.some((pod) => pod.metadata.uid !== image.spec.podUID && !isSignedFor(pod, image)),
  );
  const why = state === "Hibernated" ? "ForeignPod" : "NotRecorded";
  return beside.map((image) => ({ image, why }));
}

const annotated = (pod: Pod, key: string, value: string): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [key]: value } },
});

function restoring(pod: Pod, { metadata, spec, status }: Stored<MemoryImage>): Pod {
  const named = annotated(pod, memoryImageAnnotation, metadata.name);
  const asked = status?.storeID ? annotated(named, memoryStoreAnnotation, status.storeID) : named;
  if (!pod.spec) return asked;
  // A Pod with a gate may name no node. The affinity does.
  const { nodeName: _, ...kept } = withImages(pod.spec, spec.containerImages ?? []) ?? pod.spec;
  const schedulingGates = [...(pod.spec.schedulingGates ?? []), { name: signingGate }];
  return { ...asked, spec: { ...kept, affinity: onlyOn(spec.nodeName, pod.spec), schedulingGates } };
}

/** Whether a Pod has not got its signature. The scheduler and the kubelet leave it alone until then. */
export const waitsForSignature = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && spec?.schedulingGates?.some(({ name }) => name === signingGate) === true;

type NodeTerm = Readonly<Record<string, unknown>> & { readonly matchFields?: readonly object[] };

interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeTerm[] };
  };
}

/** What the Pod asks for, on this node alone. Terms are alternatives, so each of them gets the node. */
function onlyOn(nodeName: string, spec: PodSpec): object {
  const affinity: Affinity = spec.affinity ?? {};
  const node = { key: "metadata.name", operator: "In", values: [nodeName] };
  const { nodeSelectorTerms = [] } = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const terms = nodeSelectorTerms.map((term) => ({ ...term, matchFields: [...(term.matchFields ?? []), node] }));
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.length > 0 ? terms : [{ matchFields: [node] }],
      },
    },
  };
}

/** Whether a Pod asks for memory and has no node yet. It may still be replaced: nothing of it has run. */
export const waitsForItsNode = ({ metadata, spec }: Pod): boolean =>
  restoredFrom(metadata) !== undefined && !spec?.nodeName && metadata.deletionTimestamp === undefined;

export const isLossReason = (reason: string | undefined): reason is LossReason =>
  lossReasons.some((known) => known === reason);

/** Why memory that the status tells of is not in a Pod that does not ask for it. */
export function lossOf(seen: SeenImages | undefined): LossReason {
  if (!seen) return "NoProvider";
  if (seen.images.some(isEvicted)) return "Evicted";
  return seen.images.map(givenUp).find(isLossReason) ?? "ImageLost";
}
