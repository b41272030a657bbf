import { createHash } from "node:crypto";
import type { PodSpec } from "../../../api/kinds/pod.ts";
import { canonicalJson } from "../../blueprint/canonical-json.ts";

/** Where a Pod runs, and how it is ended. The memory of a Pod fits also if these differ. */
const ofNoConcern: ReadonlySet<string> = new Set([
  "affinity",
  "nodeName",
  "nodeSelector",
  "preemptionPolicy",
  "priority",
  "priorityClassName",
  "schedulerName",
  "schedulingGates",
  "terminationGracePeriodSeconds",
  "tolerations",
  "topologySpreadConstraints",
]);

/**
 * A hash of what a Pod runs, from its spec as the controller makes it. gVisor restores the old program without a word if image,
 * command, environment or volumes differ. So whatever is not known to be harmless is part of the hash.
 */
export function runHashOf(spec: PodSpec): string {
  const runs = Object.fromEntries(Object.entries(spec).filter(([field]) => !ofNoConcern.has(field)));
  return createHash("sha256").update(canonicalJson(runs)).digest("hex");
}
