import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";

/**
 * The merge patch from one status to another: changed values, and null for removed ones. Undefined when nothing has to
 * be written. A changed node name alone waits for the next write, unless the sandbox is Ready.
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
