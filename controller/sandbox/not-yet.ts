import { findCondition } from "../../api/conditions.ts";
import type { Sandbox, SandboxStatus } from "../../api/sandbox.ts";
import { isSpare } from "./haste.ts";

/**
 * How long a status may wait that says only that a sandbox is not ready yet, in milliseconds: most Pods of images that
 * are there run within it, and one write then says all there is to say. Nobody looks at a spare before it is ready.
 */
export const notYetWindowMs = (sandbox: Sandbox): number => (isSpare(sandbox) ? 2_000 : 500);

/**
 * Whether a status tells of a sandbox that is being made, or whose Pod is, no more than that. Whoever waits for it
 * waits for the next one. News of any other kind is no such status: an error, an end, a suspension, Ready that is lost, or
 * an address, with which a claim may take it as it is.
 */
export function saysOnlyNotYet(before: SandboxStatus | undefined, after: SandboxStatus): boolean {
  const addresses = (status: SandboxStatus | undefined) => status?.podIPs?.join() ?? "";
  if (addresses(before) !== addresses(after)) return false;
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
