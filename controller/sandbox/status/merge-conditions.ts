import type { Condition } from "../../../api/kinds/meta.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";

type Conditions = readonly Condition[];

const byType = (conditions: Conditions): ReadonlyMap<string, Condition> =>
  new Map(conditions.map((condition) => [condition.type, condition]));

/**
 * The conditions as they are `now`, with each change from `before` to `after`. A merge patch replaces the whole list, and another program
 * may have written a condition of its own since `before`. Of a condition that both have changed, ours stays.
 */
export function mergeConditions(before: Conditions, after: Conditions, now: Conditions): Conditions {
  const [old, next, current] = [byType(before), byType(after), byType(now)];
  const isChanged = ({ type }: Condition) => !semanticallyEqual(old.get(type), next.get(type));
  const kept = now.flatMap((condition) => (isChanged(condition) ? (next.get(condition.type) ?? []) : condition));
  const added = after.filter((condition) => isChanged(condition) && !current.has(condition.type));
  return [...kept, ...added];
}
