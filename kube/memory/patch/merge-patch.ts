import { isJsonObject } from "../frozen.ts";

/** RFC 7386: objects merge key by key, null removes, anything else replaces. The target is left as it is. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else define(merged, key, mergePatch(merged[key], value));
  }
  return merged;
}

// `__proto__` is an ordinary key in JSON; assigning to it would not be.
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
