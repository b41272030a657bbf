import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { readTime } from "../../../api/rules/timestamps.ts";

/** When a claim expires: at its shutdown time, or its TTL after its Pod has ended. Undefined: never. */
export function expiryOf({ spec, status }: Pick<SandboxClaim, "spec" | "status">): Date | undefined {
  const { shutdownTime, ttlSecondsAfterFinished } = spec.lifecycle ?? {};
  const finished = findCondition(status?.conditions, "Finished");
  const shutdown = readTime(shutdownTime);
  const end = finished?.status === "True" ? readTime(finished.lastTransitionTime) : undefined;
  const moments: number[] = [];
  if (shutdown) moments.push(shutdown.getTime());
  if (end && ttlSecondsAfterFinished !== undefined) moments.push(end.getTime() + ttlSecondsAfterFinished * 1_000);
  return moments.length > 0 ? new Date(Math.min(...moments)) : undefined;
}

/** The exact moment counts as expired. */
export function isExpired(claim: Pick<SandboxClaim, "spec" | "status">, now: Date): boolean {
  const expiry = expiryOf(claim);
  return expiry !== undefined && now.getTime() >= expiry.getTime();
}

/** Whether the status reports the expiry: only then is anything deleted. */
export const isMarkedExpired = ({ status }: Pick<SandboxClaim, "status">): boolean =>
  findCondition(status?.conditions, "Ready")?.reason === "ClaimExpired";
