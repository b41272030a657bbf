import { isDeepStrictEqual } from "node:util";
import type { KubeObject, Stored } from "../api/kinds/meta.ts";
import { LongInteger } from "../lib/data/exact-json.ts";
import { ownField, setField } from "../lib/data/own-fields.ts";

type StringMap = Readonly<Record<string, string>>;

/**
 * The RFC 7386 patch that turns one map into another: new and changed values, and null for what goes. Undefined when
 * there is nothing to change.
 */
export function mapPatch(
  from: StringMap | undefined,
  to: StringMap | undefined,
): Readonly<Record<string, string | null>> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(to ?? {})) if (ownField(from, key) !== value) setField(patch, key, value);
  for (const key of Object.keys(from ?? {})) if (ownField(to, key) === undefined) setField(patch, key, null);
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Only the non-empty parts; undefined if all are empty. */
export function compactPatch(parts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const present = Object.entries(parts).filter(([, value]) => value !== undefined);
  return present.length > 0 ? Object.fromEntries(present) : undefined;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The RFC 7386 patch that turns one object into another, however deep they differ. Undefined when they do not. */
export function objectPatch(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [old, next] = [ownField(from, name), ownField(to, name)];
    if (next === undefined) {
      if (old !== undefined) setField(patch, name, null);
    } else if (isObject(old) && isObject(next)) {
      const inner = objectPatch(old, next);
      if (inner) setField(patch, name, inner);
    } else if (!isDeepStrictEqual(old, next)) setField(patch, name, next);
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LongInteger);

export interface WithMetadata {
  readonly metadata?: object;
}

/** A merge patch with the uid of its object: another object that has the name since stays as it is. */
export const patchOfSame = ({ metadata: { uid } }: Stored<KubeObject>, body: WithMetadata) =>
  ({ type: "merge", body: { ...body, metadata: { ...body.metadata, uid } } }) as const;
