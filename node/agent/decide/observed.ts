import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { givenUpAnnotation } from "../../../api/rules/keys.ts";
import type { PodSandbox } from "../doors/sandboxes.ts";
import type { ImageKey } from "../store/image-key.ts";
import type { OnDisk } from "../store/image-store.ts";
import type { RecordsOfImage } from "../store/records.ts";
import type { StoreIdentity } from "../store/store-file.ts";
import type { Trial } from "../store/trial-write.ts";
import type { Evictable } from "./victims.ts";

/** What the disk has room for. */
export interface Room {
  readonly usedBytes: number;
  readonly freeBytes: number;
  /** What the images of each namespace take. */
  readonly byNamespace: ReadonlyMap<string, number>;
  /** What evictions have freed of other namespaces than that of the capture, and no capture has taken since. */
  readonly untakenBytes: number;
}

export interface StoreLimits {
  /** 0: no limit. */
  readonly maxStoreBytes: number;
  readonly minFreeBytes: number;
  /** The share of one namespace in what all images of the node may take. 100: no limit. */
  readonly maxNamespacePercent: number;
}

/** All that a pass over one image decides on. */
export interface Observed extends RecordsOfImage {
  readonly key: ImageKey;
  readonly nodeName: string;
  readonly nowMs: number;
  /** Undefined if the API has none of that name for this node and this Pod. */
  readonly memoryImage: Stored<MemoryImage> | undefined;
  /** For how long this agent has seen that the capture is asked for, and has not ended; 0: it is not. */
  readonly askedForMs: number;
  /** The UID of the captured Pod, or of the one to capture; undefined if nothing names it. */
  readonly podUID: string | undefined;
  /** That Pod, if the API still has it. */
  readonly pod: Stored<Pod> | undefined;
  /** For how long this agent has seen that the Pod is being deleted; 0: it is not. */
  readonly endingMs: number;
  /** The next Pod: it asks for this image. */
  readonly user: Stored<Pod> | undefined;
  /** Whether that Pod ran before `disk` was read, so that the shim has left a mark or a refusal, if it was asked. */
  readonly isUserAlive: boolean;
  /** What gVisor has of the captured Pod. */
  readonly sandbox: PodSandbox | undefined;
  /** What an image of it takes at least; undefined if it cannot be told. 0 where nobody asks. */
  readonly memoryBytes: number | undefined;
  /** Whether a container of it was told to end. */
  readonly isKilled: boolean;
  /** Whether this agent waits for gVisor to let it go on. */
  readonly isThawing: boolean;
  /** What gVisor has of the sandbox that the marks name. */
  readonly userSandbox: PodSandbox | undefined;
  /** The Pod that the marks name, if the API still has it. */
  readonly holder: Stored<Pod> | undefined;
  /** For how long this agent has seen that it is being deleted, or that it is gone while gVisor has its sandbox; 0: neither. */
  readonly holderEndingMs: number;
  readonly disk: OnDisk;
  /** For how long this agent has seen its marks as they are, whatever the clock of the node says; 0: there are none. */
  readonly markedForMs: number;
  /** The store that `disk` is about. */
  readonly store: StoreIdentity;
  /** Whether another image of the same Pod is being captured, or is captured. */
  readonly isCapturedElsewhere: boolean;
  /** Whether the shim can verify a signature. */
  readonly hasPublicKeys: boolean;
  readonly room: Room;
  /** Whether the store takes a new file. */
  readonly trial: Trial;
  /** What may go to make room, the oldest first. Empty where no room is looked for. */
  readonly evictable: readonly Evictable[];
  readonly limits: StoreLimits;
  /** Undefined if runsc does not tell it. */
  readonly runscVersion: string | undefined;
}

export const isEnding = (pod: Pod | undefined): boolean => !pod || pod.metadata.deletionTimestamp !== undefined;

/** Whether the controller no longer counts on an image: whatever a capture still writes is wasted. */
export const isGivenUp = (image: MemoryImage | undefined): boolean =>
  image?.metadata.deletionTimestamp !== undefined || image?.metadata.annotations?.[givenUpAnnotation] !== undefined;

const usualGraceSeconds = 30;
/** What containerd and the kubelet need to end a Pod after its grace. */
const endLimitMs = 10_000;

/** When the kubelet should have ended a Pod, from when the agent saw that it is being deleted. */
export const endedAfterMs = (pod: Pod | undefined): number =>
  (pod?.metadata.deletionGracePeriodSeconds ?? usualGraceSeconds) * 1_000 + endLimitMs;
