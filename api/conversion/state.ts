import type { KubeObject } from "../meta.ts";
import { annotationOf, withAnnotations } from "./annotations.ts";
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

/** What an object was last written with through `v1alpha1`. */
export interface State {
  readonly spec: Fields;
  readonly status: Fields;
}

/**
 * What `read` finds in the state of an object; undefined if it never was written through `v1alpha1`.
 *
 * Anybody may write the annotation. One that cannot be read counts as none and is added to `ignored`: a failure would be
 * one of every list that the object is in, and so of everybody who reads `v1alpha1`.
 */
export function readState<T>(
  object: KubeObject,
  key: string,
  read: (state: State) => T,
  ignored: string[],
): T | undefined {
  const text = annotationOf(object, key);
  if (text === undefined) return undefined;
  try {
    return read(parseState(text));
  } catch (error) {
    if (!(error instanceof UnreadableState)) throw error;
    ignored.push(`annotation ${key} cannot be read: ${error.message}`);
    return undefined;
  }
}

/** A state is not what a conversion writes; the message says how. */
export class UnreadableState extends Error {
  override readonly name = "UnreadableState";
}

function parseState(text: string): State {
  const state = parseJson(text);
  if (!isFields(state)) throw new UnreadableState("it is not the JSON of an object");
  const { spec = {}, status = {} } = state;
  if (!isFields(spec) || !isFields(status)) throw new UnreadableState("its spec or status is not an object");
  return { spec, status };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
