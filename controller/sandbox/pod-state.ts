import type { Pod } from "../../api/kinds/pod.ts";

export const podPhase = (pod: Pod): string => pod.status?.phase ?? "";

export const isPodReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

/** All addresses of a Pod, the first one first. */
export const podIps = (pod: Pod): readonly string[] => (pod.status?.podIPs ?? []).map(({ ip }) => ip);

export type PodEnding = "PodSucceeded" | "PodFailed";

/** How a Pod has ended that will not run again. */
export function podEnding(pod: Pod): { readonly reason: PodEnding; readonly message: string } | undefined {
  switch (pod.status?.phase) {
    case "Succeeded":
      return { reason: "PodSucceeded", message: "Pod completed successfully" };
    case "Failed":
      return { reason: "PodFailed", message: "Pod failed" };
    default:
      return undefined;
  }
}
