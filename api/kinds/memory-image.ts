import type { KubeObject } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";

export const hibernationGroup = "hibernation.rouse.dev";

/** `Preflight`: say whether it can be captured. `Capture`: capture it now. */
export type MemoryImageStage = "Preflight" | "Capture";

/** How many container images a MemoryImage may name, and how long each may be. */
export const containerImagesMax = 128;
export const containerImageLengthMax = 1_024;
/** How long the id of a container may be. */
export const containerIdLengthMax = 253;

/** What a container ran: a repository with a digest, or a digest alone. */
export interface ContainerImage {
  readonly name: string;
  readonly image: string;
  /** Its id at the runtime of the node. A container that was restarted since has another one, and may run another image. */
  readonly containerID?: string;
}

/** Written by the controller. Only `stage` changes, and `containerImages` comes with it. */
export interface MemoryImageSpec {
  readonly sandboxUID: string;
  readonly podName: string;
  readonly podUID: string;
  readonly nodeName: string;
  /** What the Pod runs. The node agent does not read it. */
  readonly runHash: string;
  /** The node agent counts it from the moment at which it freezes the Pod. */
  readonly timeoutSeconds: number;
  readonly stage: MemoryImageStage;
  /** The Pod that goes on from this memory names its images so. Written with the stage `Capture`. */
  readonly containerImages?: readonly ContainerImage[];
}

export type MemoryImagePhase = "Capturing" | "Captured" | "Failed" | "Restored" | "Lost";
export type RestoreOutcome = "Restored" | "Failed" | "Refused";

/** Written by the agent of the node, and by no other. */
export interface MemoryImageStatus {
  readonly preflight?: { readonly capturable: boolean; readonly reason?: string; readonly message?: string };
  readonly phase?: MemoryImagePhase;
  readonly reason?: string;
  readonly message?: string;
  readonly bytes?: number;
  /** SHA-256 of `image.json`, which has the hashes of all files; in hexadecimal digits. */
  readonly imageHash?: string;
  readonly runscVersion?: string;
  /** The store of the node that has the files: what another store does not have is not lost. */
  readonly storeID?: string;
  readonly capturedAt?: string;
  readonly durations?: {
    readonly freezeMs?: number;
    readonly writeMs?: number;
    readonly syncMs?: number;
    readonly hashMs?: number;
  };
  /** The last Pod that asked for this memory without a right to it. The memory is still there. */
  readonly refused?: { readonly podUID: string; readonly reason: string; readonly message?: string };
  /** What the shim did when it created a Pod that asked for this memory. */
  readonly restore?: {
    readonly podUID: string;
    readonly outcome: RestoreOutcome;
    readonly reason?: string;
    readonly durationMs?: number;
  };
}

/** The memory of one Pod, on the disk of its node. Owned by the Sandbox. */
export interface MemoryImage extends KubeObject {
  readonly spec: MemoryImageSpec;
  readonly status?: MemoryImageStatus;
}

export const memoryImageType: ResourceType<MemoryImage> = {
  group: hibernationGroup,
  version: "v1alpha1",
  kind: "MemoryImage",
  plural: "memoryimages",
  namespaced: true,
};
