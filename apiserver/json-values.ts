import { isDeepStrictEqual } from "node:util";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Go takes 10,000 levels. Functions that follow a value level by level have the call stack for some 4,000; honest objects have below 100. */
export const nestingMax = 500;

/** Freezes a tree of JSON values in place: all readers share stored objects. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/** Whether two JSON values are equal, in any order of their keys. */
export function sameJson(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right);
}

/** The same text for equal values, in whatever order they have their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (isJsonObject(part) ? withSortedKeys(part) : part));
}

function withSortedKeys(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** A map of texts as Go reads it: null is the empty text. */
export function nullAsText(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, value ?? ""]));
}
