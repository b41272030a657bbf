import { isDnsLabel } from "../../../api/rules/names.ts";
import { isUid } from "../store/records.ts";
import { isEnding, type Observed } from "./observed.ts";
import { chooseVictims, type Wanted } from "./victims.ts";

/** Why a Pod cannot be captured now, in one word: the values of a metric label. */
export const refusalReasons = [
  "InvalidName",
  "PodNotFound",
  "PodEnding",
  "ForeignPod",
  "PodNotRunning",
  "NotGvisor",
  "ForeignShim",
  "ShimTooOld",
  "ContainerEnding",
  "AlreadyCaptured",
  "RunscMissing",
  "NoPublicKey",
  "SizeUnknown",
  "StoreFull",
  "DiskFull",
  "NamespaceFull",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

export const isRefusalReason = (text: string | undefined): text is RefusalReason =>
  refusalReasons.some((reason) => reason === text);

export interface Refusal {
  readonly reason: RefusalReason;
  /** Without numbers that change by themselves: each change is a write to the API. */
  readonly message: string;
}

/** gVisor writes a little more than the memory of the Pod. */
const besidesMemoryBytes = 16 * 1_048_576;

/** What the image of a Pod will take. */
export const imageBytesOf = ({ memoryBytes }: Pick<Observed, "memoryBytes">): number =>
  (memoryBytes ?? 0) + besidesMemoryBytes;

/** Why the Pod of an image cannot be captured; undefined: it can. */
export function refusalOf(observed: Observed): Refusal | undefined {
  return refusalOfPod(observed) ?? refusalOfSandbox(observed) ?? refusalOfRoom(observed);
}

function refusalOfPod({ key, memoryImage, nodeName, pod, podUID }: Observed): Refusal | undefined {
  if (!isDnsLabel(key.image) || !isUid(podUID ?? "")) {
    return { reason: "InvalidName", message: "the name of the memory image or the UID of the Pod is malformed" };
  }
  if (!pod) return { reason: "PodNotFound", message: "this node has no Pod of that UID" };
  if (isEnding(pod)) return { reason: "PodEnding", message: "the Pod is being deleted" };
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
  const isOfSandbox = owner?.uid === memoryImage?.spec.sandboxUID;
  if (!isOfSandbox || pod.metadata.name !== key.pod || pod.spec?.nodeName !== nodeName) {
    return { reason: "ForeignPod", message: "the Pod does not belong to the Sandbox of this memory image" };
  }
  if (pod.status?.phase !== "Running") return { reason: "PodNotRunning", message: "the Pod does not run" };
  return undefined;
}

function refusalOfSandbox(observed: Observed): Refusal | undefined {
  const { pod, sandbox, isCapturedElsewhere, runscVersion } = observed;
  if (!sandbox?.sentry) return { reason: "NotGvisor", message: "the Pod does not run in gVisor" };
  if (!sandbox.isOurs) {
    return { reason: "ForeignShim", message: "the shim of the Pod is not the one that can restore it" };
  }
  const wanted = pod?.spec?.containers.map(({ name }) => name) ?? [];
  if ([...wanted].sort().join() !== sandbox.containers.join()) {
    return { reason: "PodNotRunning", message: "gVisor does not have all containers of the Pod" };
  }
  if (["", ...wanted].some((name) => sandbox.configs[name] === undefined)) {
    return { reason: "ShimTooOld", message: "the shim that started the Pod does not say what its containers run" };
  }
  if (observed.isKilled) return { reason: "ContainerEnding", message: "a container of the Pod was told to end" };
  if (isCapturedElsewhere) return { reason: "AlreadyCaptured", message: "the Pod is captured in another memory image" };
  if (runscVersion === undefined) return { reason: "RunscMissing", message: "this node has no usable runsc" };
  if (!observed.hasPublicKeys) {
    return { reason: "NoPublicKey", message: "this node does not know the public key of the controller yet" };
  }
  return undefined;
}

/** What other images have to free for the image of a Pod. */
export interface Shortage {
  /** In the limit of the store. */
  readonly store: number;
  /** On the disk. */
  readonly disk: number;
  /** In the share of the namespace. Only images of that namespace help. */
  readonly namespace: number;
  /** In the share of the namespace in the limit of the store alone. */
  readonly namespaceOfStore: number;
}

const none: Shortage = { store: 0, disk: 0, namespace: 0, namespaceOfStore: 0 };

/** None is below 0. Where no room was looked for, there is enough. */
export function shortageOf(observed: Pick<Observed, "limits" | "room" | "memoryBytes">): Shortage {
  const { limits, room } = observed;
  if (room.freeBytes === Number.POSITIVE_INFINITY) return none;
  const wantedBytes = imageBytesOf(observed);
  const { maxNamespacePercent, maxStoreBytes, minFreeBytes } = limits;
  const onDiskBytes = Math.max(0, room.usedBytes + room.freeBytes - minFreeBytes);
  const allBytes = maxStoreBytes > 0 ? Math.min(maxStoreBytes, onDiskBytes) : onDiskBytes;
  const ofNamespace = maxNamespacePercent < 100 ? room.namespaceBytes + wantedBytes : 0;
  const beyondShare = (bytes: number) => Math.max(0, Math.ceil(ofNamespace - (bytes * maxNamespacePercent) / 100));
  const store = maxStoreBytes > 0 ? room.usedBytes + wantedBytes - maxStoreBytes : 0;
  const disk = minFreeBytes - (room.freeBytes - wantedBytes);
  const namespaceOfStore = maxStoreBytes > 0 ? beyondShare(maxStoreBytes) : 0;
  return { store: Math.max(store, 0), disk: Math.max(disk, 0), namespace: beyondShare(allBytes), namespaceOfStore };
}

/**
 * What has to become free for the image of a Pod, beside what goes already, and what may go for it. Anybody can fill a disk with
 * other files. So what the disk lacks costs no more memory of sandboxes than the image takes: images are replaced, and do not give way to files.
 */
export function wantedOf(observed: Observed, going = { bytes: 0, namespaceBytes: 0 }): Wanted {
  const { store, disk, namespace, namespaceOfStore } = shortageOf(observed);
  const imageBytes = imageBytesOf(observed);
  const left = (bytes: number, of: number) => Math.max(0, bytes - of);
  return {
    namespace: observed.key.namespace,
    bytes: left(Math.max(store, disk), going.bytes),
    namespaceBytes: left(namespace, going.namespaceBytes),
    most: {
      bytes: Math.max(imageBytes, store),
      ofOthersBytes: Math.max(imageBytes - observed.room.untakenBytes, store),
      namespaceBytes: Math.max(imageBytes, namespaceOfStore),
    },
  };
}

export const isShort = ({ store, disk, namespace }: Pick<Shortage, "store" | "disk" | "namespace">): boolean =>
  store > 0 || disk > 0 || namespace > 0;

/** The preflight counts what other images may free. They go only for a capture. */
function refusalOfRoom(observed: Observed): Refusal | undefined {
  if (observed.memoryBytes === undefined) {
    const message = "the agent cannot see how much memory the Pod has, or the Pod has too many open files";
    return { reason: "SizeUnknown", message };
  }
  const spare = observed.memoryImage?.spec.stage === "Capture" ? [] : observed.evictable;
  const { store, disk, namespace } = shortageOf(observed);
  const wanted = wantedOf(observed);
  const isRoom = (bytes: number, namespaceBytes: number) =>
    chooseVictims(spare, { ...wanted, bytes, namespaceBytes }) !== undefined;
  if (!isRoom(store, 0)) {
    return { reason: "StoreFull", message: "the memory images of this node would take more than --max-store-bytes" };
  }
  if (!isRoom(disk, 0)) {
    return {
      reason: "DiskFull",
      message: "the disk of this node would have less left than --min-free-bytes and --min-free-percent ask for",
    };
  }
  if (!isRoom(0, namespace)) {
    return {
      reason: "NamespaceFull",
      message: "the memory images of this namespace would take more of this node than --max-namespace-percent",
    };
  }
  return undefined;
}
