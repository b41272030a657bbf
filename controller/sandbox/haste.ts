import { isConditionTrue } from "../../api/conditions.ts";
import { effectiveOperatingMode } from "../../api/defaults.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { findPod } from "./find-pod.ts";
import { ownedBy } from "./metric-labels.ts";
import type { Observed } from "./observed.ts";
import { isPodReady } from "./pod-state.ts";

/** Whether a sandbox is kept in stock by a pool, where nobody has asked for it yet. */
export const isSpare = (sandbox: Sandbox): boolean => ownedBy(sandbox) === "SandboxWarmPool";

/** Whether nobody waits for what a pass does: for a spare, or for one that runs, as its status says, and goes on to. */
export function nobodyWaitsFor(observed: Observed): boolean {
  const { sandbox } = observed;
  if (isSpare(sandbox)) return true;
  if (effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  if (!isConditionTrue(sandbox.status?.conditions, "Ready")) return false;
  const found = findPod(observed);
  return found.found === "owned" && !found.pod.metadata.deletionTimestamp && isPodReady(found.pod);
}
