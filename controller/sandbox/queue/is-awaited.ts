import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { isSuspensionComplete, sealOf } from "../../../api/rules/suspension.ts";

/**
 * Whether somebody waits for a sandbox, so that it is retried sooner after a failure. A failure of any part keeps a sandbox
 * from being Ready, also if it has its Pod. So a user waits for each that should run, for one whose suspension is not
 * complete, and for a sealed Pod to go. Nobody waits for a suspended one: its resume causes a pass.
 */
export function isAwaited(sandbox: Stored<Sandbox> | undefined): boolean {
  if (!sandbox || sandbox.metadata.deletionTimestamp) return false;
  const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended" && isSuspensionComplete(sandbox);
  return !isSuspended || sealOf(sandbox) !== undefined;
}
