import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { effectiveShutdownPolicy } from "../../api/rules/defaults.ts";
import { readTime } from "../../api/rules/timestamps.ts";

// The shortest interval between checks of a sandbox that is about to expire.
const shortestRecheckMs = 2_000;

/** Whether the sandbox has expired; the exact moment counts as expired. */
export function isExpired({ spec }: Sandbox, now: Date): boolean {
  const end = readTime(spec.shutdownTime);
  return end !== undefined && now.getTime() >= end.getTime();
}

/** Milliseconds until the next expiry check; undefined for a sandbox that never expires. */
export function expiryRecheckMs({ spec }: Sandbox, now: Date): number | undefined {
  const end = readTime(spec.shutdownTime);
  return end && Math.max(end.getTime() - now.getTime(), shortestRecheckMs);
}

/** Whether the status reports the expiry: only then are the children deleted. */
export const isMarkedExpired = ({ status }: Sandbox): boolean =>
  findCondition(status?.conditions, "Ready")?.reason === "SandboxExpired";

export const isDeletedOnExpiry = ({ spec }: Sandbox): boolean => effectiveShutdownPolicy(spec) === "Delete";
