import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { metadataCauses } from "../../apiserver/objects/object-metadata.ts";

/**
 * Why an API server rejects a converted object, and with it any list with that object: the checks of
 * `validateConvertedObject` and `restoreObjectMeta` in apiextensions-apiserver. Empty if it accepts the object.
 */
export function refusalsOf(original: KubeObject, converted: KubeObject, apiVersion: string): readonly string[] {
  const before = { kind: original.kind, ...identityOf(original) };
  const after = { kind: converted.kind, ...identityOf(converted) };
  const { labels: _labels, annotations: _annotations, ...kept } = original.metadata;
  const { labels, annotations = {}, ...shown } = converted.metadata;
  return [
    ...(converted.apiVersion === apiVersion ? [] : [`is of ${converted.apiVersion}`]),
    ...(isDeepStrictEqual(before, after) ? [] : [`${JSON.stringify(before)} became ${JSON.stringify(after)}`]),
    // The server restores these itself, so a change of them is a fault of the conversion.
    ...(isDeepStrictEqual(kept, shown) ? [] : ["has other metadata"]),
    ...[...Object.entries(labels ?? {}), ...Object.entries(annotations)]
      .filter(([, value]) => typeof value !== "string")
      .map(([key]) => `${key} is not a text`),
    ...metadataCauses(converted).map(({ field, message }) => `${field}: ${message}`),
  ];
}

const identityOf = ({ metadata: { name, namespace, uid } }: KubeObject) => ({ name, namespace, uid });
