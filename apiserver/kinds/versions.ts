import { isDeepStrictEqual } from "node:util";
import { ConversionError } from "../../api/conversion/conversion-error.ts";
import { convert } from "../../api/conversion/convert.ts";
import type { Definition } from "../../api/crd/definition.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import { metadataCauses } from "../objects/object-metadata.ts";
import type { ServedKind, View } from "../served-kind.ts";
import { unexpected } from "../status-errors.ts";
import { type CustomKind, customKind } from "./custom.ts";

/** Every served version of a definition: the stored one first, then the others as views of it. */
export function customKinds(definition: Definition): readonly ServedKind[] {
  const served = definition.spec.versions.filter((version) => version.served);
  return served
    .filter(({ storage }) => storage)
    .flatMap(({ name: storedName }) => {
      const stored = customKind(definition, storedName);
      const others = served.filter(({ storage }) => !storage).map(({ name }) => customKind(definition, name));
      return [stored, ...others.map((other) => ({ ...other, view: convertedView(stored, other.type) }))];
    });
}

/**
 * A version as a view of the stored one, by the conversion that a webhook does for a real server. As there, an object
 * is validated by the rules of its own version and gets the defaults of both.
 */
function convertedView(stored: CustomKind, type: ResourceType): View {
  return {
    of: stored.type,
    fromStored: (object) => converted(object, type),
    toStored: (object) => {
      // The stored object has no resourceVersion, so its conversion state has none either.
      const { resourceVersion, ...metadata } = object.metadata;
      const { object: spelled } = stored.prepare(converted({ ...object, metadata }, stored.type));
      return {
        ...spelled,
        metadata: { ...spelled.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
      };
    },
  };
}

function converted(object: KubeObject, type: ResourceType): KubeObject {
  const webhook = `conversion webhook for ${object.apiVersion ?? ""}, Kind=${type.kind}`;
  try {
    const result = convert(object, apiVersionOf(type));
    refuseInvalidMetadata(object, result, webhook);
    return result;
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw unexpected(`${webhook} failed: ${error.message}`);
  }
}

/**
 * An API server validates the labels and annotations that a webhook has changed (`restoreObjectMeta` in
 * apiextensions-apiserver).
 */
function refuseInvalidMetadata(original: KubeObject, result: KubeObject, webhook: string): void {
  const parts = (["labels", "annotations"] as const).filter(
    (part) => !isDeepStrictEqual(original.metadata[part], result.metadata[part]),
  );
  const [cause] = metadataCauses(result).filter(({ field }) => parts.some((part) => field === `metadata.${part}`));
  if (cause) throw unexpected(`${webhook} returned invalid metadata: ${cause.field}: ${cause.message}`);
}
