import type { ObjectMeta } from "../kinds/meta.ts";

type Annotations = NonNullable<ObjectMeta["annotations"]>;

/**
 * The limit for all annotations of one object, keys and values together, in bytes of UTF-8: `TotalAnnotationSizeLimitB`
 * of apimachinery's `api/validation`. An API server rejects more, also in the result of a conversion webhook.
 */
export const annotationBytesMax = 256 * 1024;

export function annotationBytes(annotations: Annotations): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}
