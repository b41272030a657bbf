import type { KubeObject, Stored } from "../../api/kinds/meta.ts";

/** An object without `managedFields`, which no program of ours reads. */
export function withoutManagedFields<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
