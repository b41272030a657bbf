import type { KubeObject } from "../../api/kinds/meta.ts";
import { ownField } from "../../lib/data/own-fields.ts";
import { isJsonObject } from "../json-values.ts";
import type { ServedKind } from "../served-kind.ts";
import { badRequest, unsupportedMediaType } from "../status-errors.ts";
import { jsonPatch } from "./json-patch.ts";
import { mergePatch } from "./merge-patch.ts";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

type Patcher = (target: KubeObject, patch: unknown) => unknown;

const everyKind: Readonly<Record<string, Patcher>> = {
  "application/json-patch+json": jsonPatch,
  "application/merge-patch+json": (target, patch) => mergePatch(target, onlyObject(patch)),
};

const builtInKinds: Readonly<Record<string, Patcher>> = {
  ...everyKind,
  "application/strategic-merge-patch+json": (target, patch) => strategicMergePatch({ ...target }, onlyObject(patch)),
};

/**
 * The function that applies a patch of a media type to an object of a kind. Server-side apply is not supported: it is
 * rejected as by a server without this feature.
 *
 * @throws StatusError 415 for any other media type.
 */
export function patcherFor(kind: ServedKind, mediaType: string): (target: KubeObject, patch: unknown) => KubeObject {
  const patchers = kind.strategicMerge ? builtInKinds : everyKind;
  const patcher = ownField(patchers, mediaType);
  if (!patcher) throw unsupportedMediaType(Object.keys(patchers));
  return (target, patch) => {
    const patched = patcher(target, patch);
    if (!isJsonObject(patched) || !isJsonObject(patched["metadata"])) {
      throw badRequest("the patched object has no metadata");
    }
    return { ...patched, metadata: patched["metadata"] };
  };
}

function onlyObject(patch: unknown) {
  if (!isJsonObject(patch)) throw badRequest("error decoding patch: it is not an object");
  return patch;
}
