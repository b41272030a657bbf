import type { KubeObject } from "./meta.ts";

/** The API path of a kind. The type parameter is the type of its objects. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: it binds `T` to the value, so that a client returns the right type. */
  readonly example?: T;
}

export function apiVersionOf(type: Pick<ResourceType, "group" | "version">): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** The group of an `apiVersion`; owner references of other versions of a group refer to the same owner. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** `.` and `..` would lead to another path: `encodeURIComponent` keeps them, and every URL parser resolves them. */
const isSegment = (name: string): boolean => name !== "." && name !== "..";

/**
 * The URL path of a collection, an object, or a subresource.
 *
 * @throws RangeError for the invalid names `.` and `..`.
 */
export function resourcePath(
  type: ResourceType,
  where: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string },
): string {
  for (const segment of [where.namespace, where.name]) {
    if (segment !== undefined && !isSegment(segment)) throw new RangeError(`no object is called "${segment}"`);
  }
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && where.namespace ? `/namespaces/${encodeURIComponent(where.namespace)}` : "";
  const name = where.name === undefined ? "" : `/${encodeURIComponent(where.name)}`;
  return `${root}${scope}/${type.plural}${name}${where.subresource ? `/${where.subresource}` : ""}`;
}
