import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";

/** Why memory is not kept, in one word: the values of a metric label, so a provider has no others. */
export const refusalReasons = [
  "RuntimeClassNotSet",
  "HostNetwork",
  "InitContainers",
  "EphemeralContainers",
  "PostStartHook",
  "Devices",
  "EphemeralVolumes",
  "UnknownVolumes",
  "PodAddress",
  "PodIdentity",
  "NoProvider",
  "NoSigningKey",
  "NoGvisor",
  "PodTooOld",
  "AgentNotReady",
  "NoAnswer",
  "AgentRefused",
  "ContainerImageUnknown",
  "CaptureFailed",
  "AgentSilent",
  "NotRecorded",
  "ImageLost",
  "Evicted",
  "StrategyChanged",
  "NotCaptured",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

export interface MemoryRefusal {
  readonly reason: RefusalReason;
  /** A part of a sentence, without a name that a tenant chooses. */
  readonly message: string;
}

/** A Pod, or what a template says about the next one. */
export type AskedPod = Pick<Pod, "spec" | "status"> & { readonly metadata?: ObjectMeta };

/** The MemoryImages of one sandbox. */
export interface SeenImages {
  readonly images: readonly Stored<MemoryImage>[];
  /** For how long the controller has waited for what is next: the end of a capture, the status, or a Pod that is to be restored. */
  readonly waitedMs: number;
  /** Whether a Pod can be permitted to go on from an image. Absent: yes. */
  readonly canSign?: boolean;
}

/** Keeps the memory of Pods over suspensions. */
export interface MemoryProvider {
  /**
   * Why it cannot keep the memory of this Pod; undefined: it can. It answers from what it has seen, and never waits: it is
   * asked at each pass over a sandbox.
   */
  preflight(pod: AskedPod): MemoryRefusal | undefined;
  /** What it has captured of a sandbox, and is to capture. Absent: it captures nothing. */
  seen?(sandbox: Stored<Sandbox>, pods: readonly Stored<Pod>[]): SeenImages;
}

/** The provider of a cluster without hibernation. */
export const noProvider: MemoryProvider = {
  preflight: () => ({ reason: "NoProvider", message: "the controller runs without --hibernation" }),
};
