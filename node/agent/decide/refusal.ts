import { runHashAnnotation } from "../../../api/rules/keys.ts";
import { isDnsLabel } from "../../../api/rules/names.ts";
import { isUid } from "../store/records.ts";
import { isEnding, type Observed, type StoreLimits } from "./observed.ts";
import { chooseVictims, type Wanted } from "./victims.ts";

/** Why a Pod cannot be captured now, in one word: the values of a metric label. */
export const refusalReasons = [
  "InvalidName",
  "PodNotFound",
  "PodEnding",
  "ForeignPod",
  "PodNotRunning",
  "NotGvisor",
  "StateUnreadable",
  "ForeignShim",
  "ShimTooOld",
  "AnnotationsMissing",
  "ContainerEnding",
  "AlreadyCaptured",
  "RunscMissing",
  "RunscReplaced",
  "NoPublicKey",
  "StoreReadOnly",
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

/** What an image would break. */
export const fullMessages = {
  StoreFull: "the memory images of this node would take more than --max-store-bytes",
  NamespaceFull: "the memory images of this namespace would take more of this node than --max-namespace-percent",
} as const;

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
  const isNamed = pod.metadata.namespace === key.namespace && pod.metadata.name === key.pod;
  if (!isOfSandbox || !isNamed || pod.spec?.nodeName !== nodeName) {
    return { reason: "ForeignPod", message: "the Pod does not belong to the Sandbox of this memory image" };
  }
  if (pod.status?.phase !== "Running") return { reason: "PodNotRunning", message: "the Pod does not run" };
  return undefined;
}

function refusalOfSandbox(observed: Observed): Refusal | undefined {
  const { pod, sandbox, isCapturedElsewhere, runscVersion } = observed;
  if (!sandbox?.sentry) return { reason: "NotGvisor", message: "the Pod does not run in gVisor" };
  if (sandbox.isTorn) {
    return { reason: "StateUnreadable", message: "runsc was killed while it wrote what it knows of the Pod" };
  }
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
  if (sandbox.memoryMount === undefined) {
    return { reason: "ShimTooOld", message: "the shim that started the Pod does not say where the node keeps memory" };
  }
  const { runHash } = sandbox.passed;
  // Without it the shim does not look at the store, so nothing would keep a captured Pod from a second life.
  if (runHash === undefined || pod?.metadata.annotations?.[runHashAnnotation] !== runHash) {
    const message =
      "containerd does not pass the annotations of the Pod to the shim, so no Pod here could ask for memory";
    return { reason: "AnnotationsMissing", message };
  }
  if (observed.isKilled) return { reason: "ContainerEnding", message: "a container of the Pod was told to end" };
  if (isCapturedElsewhere) return { reason: "AlreadyCaptured", message: "the Pod is captured in another memory image" };
  if (runscVersion === undefined) return { reason: "RunscMissing", message: "this node has no usable runsc" };
  if (sandbox.runsc === undefined) {
    return { reason: "ShimTooOld", message: "the shim that started the Pod does not say which runsc it has used" };
  }
  if (sandbox.runsc !== runscVersion) {
    const message =
      "runsc was replaced after the Pod was started, and only the build of the Pod could restore its memory";
    return { reason: "RunscReplaced", message };
  }
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
  /** What a namespace may take. */
  readonly shareBytes: number;
}

const none: Shortage = { store: 0, disk: 0, namespace: 0, namespaceOfStore: 0, shareBytes: Number.POSITIVE_INFINITY };

/** What the images of one namespace may take, where all of them and what is free take so much of the disk. */
export function shareOf({ maxNamespacePercent, maxStoreBytes, minFreeBytes }: StoreLimits, bytes: number): number {
  if (maxNamespacePercent >= 100) return Number.POSITIVE_INFINITY;
  const onDiskBytes = Math.max(0, bytes - minFreeBytes);
  const allBytes = maxStoreBytes > 0 ? Math.min(maxStoreBytes, onDiskBytes) : onDiskBytes;
  return (allBytes * maxNamespacePercent) / 100;
}

/** None is below 0. Where no room was looked for, there is enough. */
export function shortageOf(observed: Pick<Observed, "key" | "limits" | "room" | "memoryBytes">): Shortage {
  const { key, limits, room } = observed;
  if (room.freeBytes === Number.POSITIVE_INFINITY) return none;
  const wantedBytes = imageBytesOf(observed);
  const { maxStoreBytes, minFreeBytes } = limits;
  const shareBytes = shareOf(limits, room.usedBytes + room.freeBytes);
  const ofNamespace = (room.byNamespace.get(key.namespace) ?? 0) + wantedBytes;
  const beyond = (bytes: number, of: number) => Math.max(0, Math.ceil(bytes - of));
  return {
    store: maxStoreBytes > 0 ? beyond(room.usedBytes + wantedBytes, maxStoreBytes) : 0,
    disk: beyond(minFreeBytes, room.freeBytes - wantedBytes),
    namespace: beyond(ofNamespace, shareBytes),
    namespaceOfStore: maxStoreBytes > 0 ? beyond(ofNamespace, shareOf(limits, Number.POSITIVE_INFINITY)) : 0,
    shareBytes,
  };
}

/**
 * What has to become free for the image of a Pod, beside what goes already by namespace, and what may go for it. Anybody can fill a disk with
 * other files. So what the disk lacks costs no more memory of sandboxes than the image takes: images are replaced, and do not give way to files.
 */
export function wantedOf(observed: Observed, going: ReadonlyMap<string, number> = new Map()): Wanted {
  const { store, disk, namespace, namespaceOfStore, shareBytes } = shortageOf(observed);
  const imageBytes = imageBytesOf(observed);
  const left = (bytes: number, of: number) => Math.max(0, bytes - of);
  const own = observed.key.namespace;
  const goingBytes = [...going.values()].reduce((sum, bytes) => sum + bytes, 0);
  const staying = [...observed.room.byNamespace].map(
    ([name, bytes]) => [name, bytes - (going.get(name) ?? 0)] as const,
  );
  return {
    namespace: own,
    bytes: left(Math.max(store, disk), goingBytes),
    namespaceBytes: left(namespace, going.get(own) ?? 0),
    shareBytes,
    byNamespace: new Map(staying),
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
  if (observed.trial === "ReadOnly") {
    return { reason: "StoreReadOnly", message: "the agent cannot write to the store of this node" };
  }
  if (observed.memoryBytes === undefined) {
    const message =
      "the agent cannot see how much memory the Pod has, or the Pod has too many open files, or too many with names like those of gVisor's memory";
    return { reason: "SizeUnknown", message };
  }
  const spare = observed.memoryImage?.spec.stage === "Capture" ? [] : observed.evictable;
  const { store, disk, namespace } = shortageOf(observed);
  const wanted = wantedOf(observed);
  const isRoom = (bytes: number, namespaceBytes: number) =>
    chooseVictims(spare, { ...wanted, bytes, namespaceBytes }) !== undefined;
  if (!isRoom(store, 0)) {
    return { reason: "StoreFull", message: fullMessages.StoreFull };
  }
  if (!isRoom(disk, 0)) {
    return {
      reason: "DiskFull",
      message: "the disk of this node would have less left than --min-free-bytes and --min-free-percent ask for",
    };
  }
  if (observed.trial === "Full" && !isShort({ store, disk, namespace })) {
    return { reason: "DiskFull", message: "the disk of this node takes no new file, although it has bytes left" };
  }
  if (!isRoom(0, namespace)) {
    return { reason: "NamespaceFull", message: fullMessages.NamespaceFull };
  }
  return undefined;
}
