import type { Sandbox, SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { isUnclaimedMember } from "../write-priority.ts";

/**
 * How long to defer a status that only says the sandbox is not ready yet, in milliseconds. Most Pods with a
 * pulled image are Ready within that time, so that one write is enough. No client waits for an unclaimed pool member.
 */
export const deferStatusMs = (sandbox: Sandbox): number => (isUnclaimedMember(sandbox) ? 2_000 : 500);

/**
 * Whether a status only reports that a sandbox or its Pod is starting; a client that waits for Ready needs only the
 * next status. Any other change is written at once: an error, an end, a suspension, a lost Ready, or an address, with
 * which a claim may already take the sandbox.
 */
export function mayDeferStatus(before: SandboxStatus | undefined, after: SandboxStatus): boolean {
  const addresses = (status: SandboxStatus | undefined) => status?.podIPs?.join() ?? "";
  if (addresses(before) !== addresses(after)) return false;
  // Its captured Pod is deleted after that.
  if (after.hibernation?.state === "Hibernated" && before?.hibernation?.state !== "Hibernated") return false;
  return (before?.conditions === undefined || isNotYet(before)) && isNotYet(after);
}

function isNotYet({ conditions }: SandboxStatus): boolean {
  const reasonOf = (type: string) => findCondition(conditions, type)?.reason;
  return (
    reasonOf("Ready") === "DependenciesNotReady" &&
    reasonOf("Suspended") === "NotSuspended" &&
    reasonOf("Finished") === undefined
  );
}
