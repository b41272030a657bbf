import type { KubeObject } from "./meta.ts";

/** How a kind is addressed. The type parameter is what its objects look like. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: it ties `T` to the value, so that a client returns the right type. */
  readonly example?: T;
}

export function apiVersionOf(type: Pick<ResourceType, "group" | "version">): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** The group of an `apiVersion`; owner references of other versions of a group mean the same owner. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** The URL path of a collection, or of one object in it, or of one of its subresources. */
export function resourcePath(
  type: ResourceType,
  where: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string },
): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && where.namespace ? `/namespaces/${encodeURIComponent(where.namespace)}` : "";
  const name = where.name === undefined ? "" : `/${encodeURIComponent(where.name)}`;
  return `${root}${scope}/${type.plural}${name}${where.subresource ? `/${where.subresource}` : ""}`;
}
