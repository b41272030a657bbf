import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { findPod } from "./find-pod.ts";
import { ownedBy } from "./metrics/metric-labels.ts";
import type { Observed } from "./observed.ts";
import { isPodReady } from "./pod-state.ts";

/** Whether a sandbox is an unclaimed member of a warm pool. */
export const isUnclaimedMember = (sandbox: Sandbox): boolean => ownedBy(sandbox) === "SandboxWarmPool";

/** Whether this pass has low priority: for an unclaimed pool member, or for a sandbox that is and stays Ready. */
export function isLowPriority(observed: Observed): boolean {
  const { sandbox } = observed;
  if (isUnclaimedMember(sandbox)) return true;
  if (effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  if (!isConditionTrue(sandbox.status?.conditions, "Ready")) return false;
  const found = findPod(observed);
  return found.found === "owned" && !found.pod.metadata.deletionTimestamp && isPodReady(found.pod);
}
