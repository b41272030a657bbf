import { ownField, setField } from "../../lib/data/own-fields.ts";
import { isJsonObject } from "../json-values.ts";

/** RFC 7386: objects merge key by key, null removes, anything else replaces. The target is not modified. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setField(merged, key, mergePatch(ownField(merged, key), value));
  }
  return merged;
}
