import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { metadataCauses } from "../../apiserver/objects/object-metadata.ts";

/**
 * Why an API server refuses what a conversion made of an object, and with it the list that the object is in: the checks of
 * `validateConvertedObject` and `restoreObjectMeta` in apiextensions-apiserver. Empty where it takes it.
 */
export function refusalsOf(original: KubeObject, converted: KubeObject, apiVersion: string): readonly string[] {
  const before = { kind: original.kind, ...identityOf(original) };
  const after = { kind: converted.kind, ...identityOf(converted) };
  const { labels: _labels, annotations: _annotations, ...kept } = original.metadata;
  const { labels, annotations = {}, ...shown } = converted.metadata;
  return [
    ...(converted.apiVersion === apiVersion ? [] : [`is of ${converted.apiVersion}`]),
    ...(isDeepStrictEqual(before, after) ? [] : [`${JSON.stringify(before)} became ${JSON.stringify(after)}`]),
    // The server restores these itself; whoever changes them has misunderstood something.
    ...(isDeepStrictEqual(kept, shown) ? [] : ["has other metadata"]),
    ...[...Object.entries(labels ?? {}), ...Object.entries(annotations)]
      .filter(([, value]) => typeof value !== "string")
      .map(([key]) => `${key} is not a text`),
    ...metadataCauses(converted).map(({ field, message }) => `${field}: ${message}`),
  ];
}

const identityOf = ({ metadata: { name, namespace, uid } }: KubeObject) => ({ name, namespace, uid });
