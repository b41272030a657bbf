// From which memory the next Pod of a sandbox goes on, if from any, and for how long it may wait for it.
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
import { hasStarted, imagesLimitMs, isWithoutHope, waitsForAnImage, withImages } from "./container-images.ts";
import { givenUp, holdsMemory, isSignedFor, isUsed, restoredFrom, restoreOf } from "./images.ts";
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
  "NotStarted",
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

/** Whether a Pod has not got its signature. The scheduler and the kubelet leave it alone until then, so nothing of it has run. */
export const isUnsigned = ({ spec }: Pod): boolean =>
  spec?.schedulingGates?.some(({ name }) => name === signingGate) === true;

/** Whether such a Pod is not being deleted. */
export const waitsForSignature = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && isUnsigned(pod);

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

/** How long a Pod that is to be restored stays after the scheduler has said that its node does not take it. */
const scheduleLimitMs = 1_000;

/** The same once the scheduler ends other Pods for it. Most have a grace of 30 s, and their node takes some seconds to end them. */
const victimsLimitMs = 60_000;

/** How long it stays while no scheduler says anything. The Pod without the memory would wait for the same scheduler. */
const silenceLimitMs = 300_000;

/**
 * How long its node has to start its first container. A node has 10 minutes to mount the disk of its store, and the shim 5 minutes for an
 * image that it cannot read; what lasts longer does not end by itself, such as a store that is full or read-only.
 */
const startLimitMs = 900_000;

/** A wait that has an end: then the memory is given up, and the Pod is replaced. */
export interface RestoreWait {
  readonly for: "scheduler" | "node" | "victims" | "image" | "start";
  readonly limitMs: number;
  readonly why: LossReason;
}

/** What keeps a Pod from the memory that it asks for; undefined: it asks for none, has its answer, or has begun to run. */
export function restoreWaitOf(pod: Pod, images: readonly Stored<MemoryImage>[]): RestoreWait | undefined {
  const { metadata, spec } = pod;
  const asked = restoredFrom(metadata);
  if (asked === undefined || metadata.deletionTimestamp) return undefined;
  if (!spec?.nodeName) return scheduleWaitOf(pod);
  const image = images.find((one) => one.metadata.name === asked);
  const answer = image && restoreOf(image, metadata.uid ?? "");
  if (answer?.outcome === "Restored") return undefined;
  if (isWithoutHope(pod)) return { for: "image", limitMs: 0, why: "ContainerImageMissing" };
  if (waitsForAnImage(pod)) return { for: "image", limitMs: imagesLimitMs, why: "ContainerImageMissing" };
  return answer || hasStarted(pod) ? undefined : { for: "start", limitMs: startLimitMs, why: "NotStarted" };
}

/**
 * The scheduler may choose only the node of the memory. If it ends other Pods there, it says that the Pod is unschedulable, and names the node. A gate of
 * somebody else, as of a queue of jobs, keeps it from the Pod, and the Pod without the memory would have the same gate: that has no end here.
 */
function scheduleWaitOf(pod: Pod): RestoreWait | undefined {
  const why = "NotScheduled";
  if (pod.spec?.schedulingGates?.some(({ name }) => name !== signingGate)) return undefined;
  if (!isUnschedulable(pod)) return { for: "scheduler", limitMs: silenceLimitMs, why };
  return pod.status?.nominatedNodeName
    ? { for: "victims", limitMs: victimsLimitMs, why }
    : { for: "node", limitMs: scheduleLimitMs, why };
}

/** What the scheduler says, which tries again. That it has not seen the Pod yet, or that this had a gate, is no refusal. */
const isUnschedulable = ({ status }: Pod): boolean =>
  status?.conditions?.some(
    ({ type, status: is, reason }) => type === "PodScheduled" && is === "False" && reason === "Unschedulable",
  ) === true;

export const isLossReason = (reason: string | undefined): reason is LossReason =>
  lossReasons.some((known) => known === reason);

/** Why memory that the status tells of is not in a Pod that does not ask for it. */
export function lossOf(seen: SeenImages | undefined): LossReason {
  if (!seen) return "NoProvider";
  if (seen.images.some(isEvicted)) return "Evicted";
  return seen.images.map(givenUp).find(isLossReason) ?? "ImageLost";
}
