import { podNameAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type Ownership, ownershipOf } from "../ownership.ts";
import type { Observed } from "./observed.ts";

export type FoundPod =
  | { readonly found: "none" }
  | { readonly found: "several"; readonly count: number }
  | { readonly found: Ownership; readonly pod: Stored<Pod> };

/** What the annotation on the sandbox says; empty when it says nothing. */
export const recordedPodName = (sandbox: Sandbox): string => sandbox.metadata.annotations?.[podNameAnnotation] ?? "";

/** The Pods of an observation that the sandbox controls. */
export const ownedPods = ({ sandbox, pods }: Pick<Observed, "sandbox" | "pods">): readonly Stored<Pod>[] =>
  pods.filter((pod) => ownershipOf(pod, sandbox) === "owned");

/**
 * Which Pod backs the sandbox. A Pod that the sandbox controls wins over whatever the annotation says; more than one
 * is a riddle that only a person can solve. Without one it is the recorded Pod, else the one of the sandbox's name,
 * whoever it belongs to.
 */
export function findPod(observed: Pick<Observed, "sandbox" | "pods">): FoundPod {
  const { sandbox, pods } = observed;
  const owned = ownedPods(observed);
  if (owned.length > 1) return { found: "several", count: owned.length };
  const named = (name: string) => pods.find((pod) => pod.metadata.name === name);
  const pod = owned[0] ?? named(recordedPodName(sandbox)) ?? named(sandbox.metadata.name);
  return pod ? { found: ownershipOf(pod, sandbox), pod } : { found: "none" };
}
