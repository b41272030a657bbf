import type { KubeObject, ObjectMeta } from "../meta.ts";

/** The object with these annotations changed; undefined takes one off. A map that ends up empty is left out. */
export function withAnnotations<T extends KubeObject>(
  object: T,
  changes: Readonly<Record<string, string | undefined>>,
): T {
  return { ...object, metadata: annotated(object.metadata, changes) };
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

/** One annotation, if it is there. */
export const annotationOf = ({ metadata }: KubeObject, key: string): string | undefined => metadata.annotations?.[key];
