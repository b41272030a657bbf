import type { KubeObject, ObjectMeta } from "../kinds/meta.ts";
import { annotationBytes, annotationBytesMax } from "../rules/annotation-limit.ts";

/** The object with these annotations changed; undefined removes one. An empty map is removed. */
export function withAnnotations<T extends KubeObject>(
  object: T,
  changes: Readonly<Record<string, string | undefined>>,
): T {
  return { ...object, metadata: annotated(object.metadata, changes) };
}

/**
 * The object with this annotation set. If it exceeds the API server's limit, it is left out and added to `ignored`: the
 * server would reject the object, and every list that includes it.
 */
export function withAnnotationThatFits<T extends KubeObject>(
  object: T,
  { key, value }: { readonly key: string; readonly value: string },
  ignored: string[],
): T {
  const annotations = { ...object.metadata.annotations, [key]: value };
  if (annotationBytes(annotations) <= annotationBytesMax) return withAnnotations(object, { [key]: value });
  ignored.push(`annotation ${key} is left out: the annotations would have more than ${annotationBytesMax} bytes`);
  return withAnnotations(object, { [key]: undefined });
}

function annotated(
  { annotations, ...metadata }: ObjectMeta,
  changes: Readonly<Record<string, string | undefined>>,
): ObjectMeta {
  const kept = Object.entries({ ...annotations, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return kept.length > 0 ? { ...metadata, annotations: Object.fromEntries(kept) } : metadata;
}

/** The value of an annotation; undefined if absent. */
export const annotationOf = ({ metadata }: KubeObject, key: string): string | undefined => metadata.annotations?.[key];
