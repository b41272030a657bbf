import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { PodSandbox } from "../doors/sandboxes.ts";
import type { ImageKey } from "../store/image-key.ts";
import type { OnDisk } from "../store/image-store.ts";
import type { RecordsOfImage } from "../store/records.ts";

/** The annotation by which a Pod asks for the memory of an earlier one. */
export const imageAnnotation = "hibernation.rouse.dev/image";

/** What the disk has room for. */
export interface Room {
  readonly usedBytes: number;
  readonly freeBytes: number;
}

export interface StoreLimits {
  /** 0: no limit. */
  readonly maxStoreBytes: number;
  readonly minFreeBytes: number;
}

/** All that a pass over one image decides on. */
export interface Observed extends RecordsOfImage {
  readonly key: ImageKey;
  readonly nodeName: string;
  readonly nowMs: number;
  /** Undefined if the API has none of that name for this node and this Pod. */
  readonly memoryImage: Stored<MemoryImage> | undefined;
  /** The UID of the captured Pod, or of the one to capture; undefined if nothing names it. */
  readonly podUID: string | undefined;
  /** That Pod, if the API still has it. */
  readonly pod: Stored<Pod> | undefined;
  /** The next Pod: it asks for this image. */
  readonly user: Stored<Pod> | undefined;
  /** What gVisor has of the captured Pod. */
  readonly sandbox: PodSandbox | undefined;
  /** Whether gVisor has the Pod that the marks name. */
  readonly isUserInGvisor: boolean;
  readonly disk: OnDisk;
  /** Whether another image of the same Pod is being captured, or is captured. */
  readonly isCapturedElsewhere: boolean;
  readonly room: Room;
  readonly limits: StoreLimits;
  /** Undefined if runsc does not tell it. */
  readonly runscVersion: string | undefined;
}

export const isEnding = (pod: Pod | undefined): boolean => !pod || pod.metadata.deletionTimestamp !== undefined;
