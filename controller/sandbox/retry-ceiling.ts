import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { isSuspensionComplete, sealOf } from "../../api/rules/suspension.ts";
import { awaitedRetryMs } from "../start-kind.ts";
import type { Observed } from "./observed.ts";

/**
 * The longest retry delay of a failing sandbox, in milliseconds; undefined: the backoff's own maximum. A failure of any
 * part keeps a sandbox from being Ready, also if it has its Pod. So a user waits for each that should run, for one whose
 * suspension is not complete, and for a sealed Pod to go. Nobody waits for a suspended one: its resume causes a pass.
 */
export function retryCeilingMs(seen: Pick<Observed, "sandbox"> | undefined): number | undefined {
  if (!seen) return undefined;
  const { sandbox } = seen;
  const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended" && isSuspensionComplete(sandbox);
  return isSuspended && !sealOf(sandbox) ? undefined : awaitedRetryMs;
}
