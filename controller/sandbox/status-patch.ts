import { isConditionTrue } from "../../api/conditions.ts";
import type { SandboxStatus } from "../../api/sandbox.ts";
import { semanticallyEqual } from "../semantic-equality.ts";

/**
 * The merge patch that turns one status into another: what changed, and null for what goes. Undefined when nothing
 * has to be written. A node name alone waits for the next write, unless the sandbox is Ready.
 */
export function statusPatch(
  before: SandboxStatus | undefined,
  after: SandboxStatus,
): Readonly<Record<string, unknown>> | undefined {
  const old: Readonly<Record<string, unknown>> = { ...before };
  const next: Readonly<Record<string, unknown>> = { ...after };
  const changed = [...new Set([...Object.keys(old), ...Object.keys(next)])].filter(
    (field) => !semanticallyEqual(old[field], next[field]),
  );
  if (changed.length === 0) return undefined;
  const canWait = changed.length === 1 && changed[0] === "nodeName" && !isConditionTrue(after.conditions, "Ready");
  if (canWait) return undefined;
  return Object.fromEntries(changed.map((field) => [field, next[field] ?? null]));
}
