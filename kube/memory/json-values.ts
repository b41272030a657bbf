import { isDeepStrictEqual } from "node:util";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Freezes a tree of JSON values in place: what is stored is shared by every reader. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/** Whether two JSON values say the same, whatever the order of their keys. */
export function sameJson(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right);
}

/** Sets a field of a JSON object that is being built; `__proto__` is an ordinary name there. */
export function setField(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
