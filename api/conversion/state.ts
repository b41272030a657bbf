import type { KubeObject } from "../meta.ts";
import { annotationOf, withAnnotations } from "./annotations.ts";
import { ConversionError } from "./conversion-error.ts";
import { type Fields, isFields } from "./fields.ts";

/**
 * `converted` with its `v1alpha1` original beside it, whole, so that the way back finds what `v1beta1` has no field for.
 * The original is taken down without an older state: otherwise it would grow with every write.
 */
export function withState<T extends KubeObject>(converted: T, original: KubeObject, key: string): T {
  return withAnnotations(converted, { [key]: JSON.stringify(withAnnotations(original, { [key]: undefined })) });
}

export const withoutState = <T extends KubeObject>(object: T, key: string): T =>
  withAnnotations(object, { [key]: undefined });

/**
 * The spec and status that an object was last written with through `v1alpha1`; undefined if it never was.
 *
 * @throws ConversionError when the annotation is not the JSON of an object.
 */
export function readState(
  object: KubeObject,
  key: string,
): { readonly spec: Fields; readonly status: Fields } | undefined {
  const text = annotationOf(object, key);
  if (text === undefined) return undefined;
  const state = parseJson(text);
  if (!isFields(state)) throw unreadable(key, "it is not the JSON of an object");
  const { spec = {}, status = {} } = state;
  if (!isFields(spec) || !isFields(status)) throw unreadable(key, "its spec or status is not an object");
  return { spec, status };
}

export const unreadable = (key: string, why: string): ConversionError =>
  new ConversionError("UnreadableState", `annotation ${key} cannot be read: ${why}`);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
