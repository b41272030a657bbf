import { namespaceType } from "../../api/core.ts";
import type { ServedKind } from "./served-kind.ts";
import { forbidden, notFound, resourceName, type StatusError } from "./status-errors.ts";
import type { Storage } from "./storage.ts";

const collection = resourceName(namespaceType);

/** Why nothing may be created in a namespace: it is not there, or on its way out. */
export function refusalToAdd(
  storage: Storage,
  kind: ServedKind,
  namespace: string | undefined,
  name: string,
): StatusError | undefined {
  if (namespace === undefined) return undefined;
  const entry = storage.get(collection, undefined, namespace);
  if (!entry) return notFound(namespaceType, namespace);
  if (!entry.object.metadata.deletionTimestamp) return undefined;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  return forbidden(kind.type, name, why, [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }]);
}
