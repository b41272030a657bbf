import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { podNameAnnotation } from "../../api/rules/keys.ts";
import { isDnsSubdomain } from "../../api/rules/names.ts";
import { type Ownership, ownershipOf } from "../ownership.ts";
import type { Observed } from "./observed.ts";

export type FoundPod =
  | { readonly found: "none" }
  | { readonly found: "several"; readonly count: number }
  | { readonly found: Ownership; readonly pod: Stored<Pod> };

/** The Pod name in the sandbox's annotation; empty when it is not a valid Pod name. */
export function recordedPodName({ metadata }: Sandbox): string {
  const recorded = metadata.annotations?.[podNameAnnotation] ?? "";
  return isDnsSubdomain(recorded) ? recorded : "";
}

/** The Pods of an observation that the sandbox controls. */
export const ownedPods = ({ sandbox, pods }: Pick<Observed, "sandbox" | "pods">): readonly Stored<Pod>[] =>
  pods.filter((pod) => ownershipOf(pod, sandbox) === "owned");

/**
 * Finds the Pod of the sandbox. A Pod that the sandbox controls takes precedence over the annotation; if it controls
 * more than one, a person must choose. If it controls none, the Pod is the one that the annotation names, else the one
 * with the sandbox's name, whatever its owner.
 */
export function findPod(observed: Pick<Observed, "sandbox" | "pods" | "moreOwnPods">): FoundPod {
  const { sandbox, pods, moreOwnPods = 0 } = observed;
  const owned = ownedPods(observed);
  if (owned.length > 1) return { found: "several", count: owned.length + moreOwnPods };
  const named = (name: string) => pods.find((pod) => pod.metadata.name === name);
  const pod = owned[0] ?? named(recordedPodName(sandbox)) ?? named(sandbox.metadata.name);
  return pod ? { found: ownershipOf(pod, sandbox), pod } : { found: "none" };
}
