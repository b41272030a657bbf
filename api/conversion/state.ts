import type { KubeObject } from "../kinds/meta.ts";
import { annotationBytesMax } from "../rules/annotation-limit.ts";
import { annotationOf, withAnnotations, withAnnotationThatFits } from "./annotations.ts";
import { type Fields, isFields } from "./fields.ts";

/** The fields of a `v1alpha1` object that `v1beta1` lacks, at their original paths. */
export interface Remainder {
  readonly metadata?: { readonly annotations: Fields };
  readonly spec?: Fields;
  readonly status?: Fields;
}

/**
 * `converted` with an annotation for the fields of its `v1alpha1` original that it lacks. Other releases write the
 * whole original into it, and read it by the same paths. If it does not fit, it is left out: then the object has only
 * its `v1beta1` fields, like an object that was never written through `v1alpha1`.
 */
export function withState<T extends KubeObject>(converted: T, remainder: Remainder, key: string, ignored: string[]): T {
  return withAnnotationThatFits(converted, { key, value: JSON.stringify(remainder) }, ignored);
}

export const withoutState = <T extends KubeObject>(object: T, key: string): T =>
  withAnnotations(object, { [key]: undefined });

/** The last state of an object written through `v1alpha1`: the remainder, or the whole object. */
export interface State {
  readonly annotations: Fields;
  readonly spec: Fields;
  readonly status: Fields;
}

/**
 * The result of `read` for the state of an object; undefined if it was never written through `v1alpha1`.
 *
 * Any user may write the annotation. A text that cannot be parsed counts as absent and is added to `ignored`: an error
 * would fail every list with the object, for all clients of `v1alpha1`.
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

/** No conversion writes such a state; the message has the reason. */
export class UnreadableState extends Error {
  override readonly name = "UnreadableState";
}

function parseState(text: string): State {
  // No API server has stored it. Its parse would take tens of times its size of memory.
  if (text.length > annotationBytesMax) throw new UnreadableState(`it has more than ${annotationBytesMax} bytes`);
  const state = parseJson(text);
  if (!isFields(state)) throw new UnreadableState("it is not the JSON of an object");
  const { metadata = {}, spec = {}, status = {} } = state;
  if (!isFields(spec) || !isFields(status)) throw new UnreadableState("its spec or status is not an object");
  const annotations = isFields(metadata) ? (metadata["annotations"] ?? {}) : undefined;
  if (!isFields(annotations)) throw new UnreadableState("its metadata or annotations are not an object");
  return { annotations, spec, status };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
