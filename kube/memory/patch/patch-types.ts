import type { KubeObject } from "../../../api/meta.ts";
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
 * How a patch of a media type changes an object of a kind. Server-side apply is not among them: it is refused as by a
 * server that has never heard of it.
 *
 * @throws StatusError 415 for any other media type.
 */
export function patcherFor(kind: ServedKind, mediaType: string): (target: KubeObject, patch: unknown) => KubeObject {
  const patchers = kind.strategicMerge ? builtInKinds : everyKind;
  const patcher = patchers[mediaType];
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
