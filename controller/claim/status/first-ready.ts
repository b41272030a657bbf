import type { SandboxClaim, SandboxClaimStatus } from "../../../api/kinds/sandbox-claim.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { claimFirstReadyAtAnnotation } from "../../../api/rules/keys.ts";

/**
 * How to handle a claim's first Ready, so that it is measured once per claim, over flaps and restarts: `record` it now,
 * `backfill` an annotation for a Ready whose time is unknown, or nothing.
 */
export function firstReadyStep(
  claim: Pick<SandboxClaim, "metadata" | "status">,
  after: SandboxClaimStatus,
): "record" | "backfill" | undefined {
  if (claim.metadata.annotations?.[claimFirstReadyAtAnnotation]) return undefined;
  if (isConditionTrue(claim.status?.conditions, "Ready")) return "backfill";
  return isConditionTrue(after.conditions, "Ready") ? "record" : undefined;
}

/** Whether the first Ready has not happened yet or has not been written yet. */
export const isTimed = ({ metadata }: Pick<SandboxClaim, "metadata">): boolean =>
  !metadata.annotations?.[claimFirstReadyAtAnnotation];
