import { findCondition } from "../../api/conditions.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";

/** When a claim's time is over: at its shutdown time, or so long after its Pod has ended. Undefined: never. */
export function expiryOf({ spec, status }: Pick<SandboxClaim, "spec" | "status">): Date | undefined {
  const { shutdownTime, ttlSecondsAfterFinished } = spec.lifecycle ?? {};
  const finished = findCondition(status?.conditions, "Finished");
  const moments: number[] = [];
  if (shutdownTime) moments.push(new Date(shutdownTime).getTime());
  if (ttlSecondsAfterFinished !== undefined && finished?.status === "True") {
    moments.push(new Date(finished.lastTransitionTime).getTime() + ttlSecondsAfterFinished * 1_000);
  }
  return moments.length > 0 ? new Date(Math.min(...moments)) : undefined;
}

/** The very moment counts. */
export function isExpired(claim: Pick<SandboxClaim, "spec" | "status">, now: Date): boolean {
  const expiry = expiryOf(claim);
  return expiry !== undefined && now.getTime() >= expiry.getTime();
}

/** Whether the status says that it has expired: only then is anything deleted. */
export const isMarkedExpired = ({ status }: Pick<SandboxClaim, "status">): boolean =>
  findCondition(status?.conditions, "Ready")?.reason === "ClaimExpired";
