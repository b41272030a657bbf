import { namespaceType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { deepFreeze } from "../json-values.ts";
import { resourceName } from "../status-errors.ts";
import type { Entry, Storage } from "../storage/storage.ts";

const namespaces = resourceName(namespaceType);

/**
 * Stores the next state of an object, or removes it if nothing blocks its deletion any more. Then watches see its last stored state, and only
 * the writer the next one.
 */
export function storeOrFinish(storage: Storage, resource: string, next: KubeObject): Entry {
  if (!isFinished(resource, next)) return storage.put(resource, next);
  const { namespace, name = "" } = next.metadata;
  storage.remove(resource, storage.get(resource, namespace, name)?.object ?? next);
  return unstored(next);
}

/**
 * Whether nothing blocks a deletion any more: no finalizer, no grace period. A namespace also waits for its contents,
 * which the namespace controller decides.
 */
function isFinished(resource: string, { metadata }: KubeObject): boolean {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = metadata;
  if (!deletionTimestamp || resource === namespaces) return false;
  return finalizers.length === 0 && deletionGracePeriodSeconds === 0;
}

/** The same object with these finalizers. */
export function withFinalizers(object: KubeObject, finalizers: readonly string[]): KubeObject {
  const current = object.metadata.finalizers ?? [];
  if (current.length === finalizers.length && current.every((one, at) => one === finalizers[at])) return object;
  const { finalizers: _old, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(finalizers.length > 0 && { finalizers }) } };
}

/** The result of a dry run: the object as it would be, under the version that it is based on. */
export function unstored(object: KubeObject): Entry {
  return { object: deepFreeze(object) as Entry["object"], json: JSON.stringify(object) };
}
