import { ConversionError } from "../../../api/conversion/conversion-error.ts";
import { convert } from "../../../api/conversion/convert.ts";
import type { Definition } from "../../../api/crd/definition.ts";
import type { KubeObject } from "../../../api/meta.ts";
import { apiVersionOf, type ResourceType } from "../../../api/resource-type.ts";
import type { ServedKind, View } from "../served-kind.ts";
import { unexpected } from "../status-errors.ts";
import { type CustomKind, customKind } from "./custom.ts";

/** Every version of a definition that is served: the stored one first, then the others as views of it. */
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
 * A version as a view of the one that is stored, by the conversion that a webhook does for a real server. As there, an
 * object is valid by the rules of the version that it is written in, and complete by the defaults of both.
 */
function convertedView(stored: CustomKind, type: ResourceType): View {
  return {
    of: stored.type,
    fromStored: (object) => converted(object, type),
    toStored: (object) => {
      // The version of an object is no part of what is stored, so that it is not written down in its state either.
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
  try {
    return convert(object, apiVersionOf(type));
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    const from = object.apiVersion ?? "";
    throw unexpected(`conversion webhook for ${from}, Kind=${type.kind} failed: ${error.message}`);
  }
}
