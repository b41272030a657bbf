import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { isSuspensionComplete, sealOf } from "../../../api/rules/suspension.ts";
import type { Observed } from "../observed.ts";

/**
 * Whether somebody waits for a sandbox, so that it is retried sooner after a failure. A failure of any part keeps a sandbox
 * from being Ready, also if it has its Pod. So a user waits for each that should run, for one whose suspension is not
 * complete, and for a sealed Pod to go. Nobody waits for a suspended one: its resume causes a pass.
 */
export function isAwaited(seen: Pick<Observed, "sandbox"> | undefined): boolean {
  if (!seen) return false;
  const { sandbox } = seen;
  const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended" && isSuspensionComplete(sandbox);
  return !isSuspended || sealOf(sandbox) !== undefined;
}
