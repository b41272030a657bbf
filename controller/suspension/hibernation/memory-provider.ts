import type { Pod } from "../../../api/kinds/pod.ts";

/** Why memory is not kept, in one word: the values of a metric label, so a provider has no others. */
export const refusalReasons = [
  "RuntimeClassNotSet",
  "HostNetwork",
  "InitContainers",
  "EphemeralContainers",
  "PostStartHook",
  "Devices",
  "NoProvider",
  "NoGvisor",
  "NotCaptured",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

export interface MemoryRefusal {
  readonly reason: RefusalReason;
  /** A part of a sentence, without a name that a tenant chooses. */
  readonly message: string;
}

/** Keeps the memory of Pods over suspensions. */
export interface MemoryProvider {
  /**
   * Why it cannot keep the memory of this Pod; undefined: it can. It answers from what it has seen, and never waits: it is
   * asked at each pass over a sandbox.
   */
  preflight(pod: Pick<Pod, "spec" | "status">): MemoryRefusal | undefined;
}

/** The provider of a cluster: no program on its nodes can keep memory yet. */
export const noProvider: MemoryProvider = {
  preflight: () => ({ reason: "NoProvider", message: "no node agent is installed" }),
};
