import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { isSuspensionComplete, sealOf } from "../../api/rules/suspension.ts";
import { findPod } from "./find-pod.ts";
import type { Observed } from "./observed.ts";

/** 30 s: as long as a person or a connection waits. */
const ceilingMs = 30_000;

/**
 * The longest retry delay of a failing sandbox, in milliseconds; undefined: the backoff's own maximum. A user waits for a
 * sandbox that should run and has no Pod, for one whose suspension is not complete, and for a sealed Pod to go.
 */
export function retryCeilingMs(seen: Pick<Observed, "sandbox" | "pods"> | undefined): number | undefined {
  if (!seen) return undefined;
  const { sandbox } = seen;
  if (sealOf(sandbox)) return ceilingMs;
  const isDone =
    effectiveOperatingMode(sandbox.spec) === "Suspended"
      ? isSuspensionComplete(sandbox)
      : findPod(seen).found === "owned";
  return isDone ? undefined : ceilingMs;
}
