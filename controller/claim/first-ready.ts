import { isConditionTrue } from "../../api/conditions.ts";
import { claimFirstReadyAtAnnotation } from "../../api/keys.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandbox-claim.ts";

/**
 * What is to be done about a claim's first Ready, so that it is timed once in its life, over flaps and restarts:
 * `record` it now, `backfill` that it was and nobody knows when, or nothing.
 */
export function firstReadyStep(
  claim: Pick<SandboxClaim, "metadata" | "status">,
  after: SandboxClaimStatus,
): "record" | "backfill" | undefined {
  if (claim.metadata.annotations?.[claimFirstReadyAtAnnotation]) return undefined;
  if (isConditionTrue(claim.status?.conditions, "Ready")) return "backfill";
  return isConditionTrue(after.conditions, "Ready") ? "record" : undefined;
}

/** Whether the time of a claim's first Ready is still to come, or to be written down. */
export const isTimed = ({ metadata }: Pick<SandboxClaim, "metadata">): boolean =>
  !metadata.annotations?.[claimFirstReadyAtAnnotation];
