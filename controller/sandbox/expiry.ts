import { findCondition } from "../../api/conditions.ts";
import { effectiveShutdownPolicy } from "../../api/defaults.ts";
import type { Sandbox } from "../../api/sandbox.ts";

// A sandbox that is about to expire is not looked at more often than this.
const shortestRecheckMs = 2_000;

/** Whether the sandbox's time is over; the very moment counts. */
export function isExpired({ spec }: Sandbox, now: Date): boolean {
  return spec.shutdownTime ? now.getTime() >= new Date(spec.shutdownTime).getTime() : false;
}

/** When to look again for expiry, in milliseconds; undefined for a sandbox that never expires. */
export function expiryRecheckMs({ spec }: Sandbox, now: Date): number | undefined {
  if (!spec.shutdownTime) return undefined;
  return Math.max(new Date(spec.shutdownTime).getTime() - now.getTime(), shortestRecheckMs);
}

/** Whether the status already says that it has expired: only then are its children torn down. */
export const isMarkedExpired = ({ status }: Sandbox): boolean =>
  findCondition(status?.conditions, "Ready")?.reason === "SandboxExpired";

export const isDeletedOnExpiry = ({ spec }: Sandbox): boolean => effectiveShutdownPolicy(spec) === "Delete";
