import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { objectPatch } from "../../merge-patch.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (status: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, status[name] ?? undefined]));

/**
 * The merge patch from one status to another: changed values, and null for removed ones. Undefined when nothing has to
 * be written. A changed node name alone waits for the next write, unless the sandbox is Ready.
 */
export function statusPatch(before: SandboxStatus | undefined, after: SandboxStatus): Fields | undefined {
  const old: Fields = { ...before };
  const next: Fields = { ...after };
  const changed = [...new Set([...Object.keys(old), ...Object.keys(next)])].filter(
    (field) => !semanticallyEqual(old[field], next[field]),
  );
  if (changed.length === 0) return undefined;
  const canWait = changed.length === 1 && changed[0] === "nodeName" && !isConditionTrue(after.conditions, "Ready");
  if (canWait) return undefined;
  return objectPatch(fieldsOf(old, changed), fieldsOf(next, changed));
}
