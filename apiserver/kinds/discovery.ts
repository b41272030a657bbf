import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { ServedKind } from "../served-kind.ts";

/** The answer of `/version`: the served API behaves like this version's. */
export const serverVersion = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.0",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64",
};

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  /** Set if a subresource has another kind than its parent. */
  readonly speaks?: GroupVersion;
  readonly verbs: readonly string[];
}

const objectVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const readVerbs = ["get", "list", "watch"];
const partVerbs = ["get", "patch", "update"];

/** The verbs of a kind, as the server serves and announces them. */
export function verbsOf({ readOnly, deletedOneByOne }: ServedKind): readonly string[] {
  if (readOnly) return readVerbs;
  return deletedOneByOne ? objectVerbs.filter((verb) => verb !== "deletecollection") : objectVerbs;
}

function subresourcesOf(kind: ServedKind): readonly Resource[] {
  return [
    ...(kind.type.kind === "Pod" ? [{ name: "log", kind: "Pod", verbs: ["get"] }] : []),
    ...(kind.scale
      ? [{ name: "scale", kind: "Scale", speaks: { group: "autoscaling", version: "v1" }, verbs: partVerbs }]
      : []),
    ...(kind.hasStatus ? [{ name: "status", kind: kind.type.kind, verbs: partVerbs }] : []),
  ];
}

/** The served groups with their kinds, the core group first. */
export function groupsOf(kinds: readonly ServedKind[]): ReadonlyMap<string, readonly ServedKind[]> {
  const names = [...new Set(kinds.map(({ type }) => type.group))].sort();
  return new Map(names.map((name) => [name, kinds.filter(({ type }) => type.group === name)]));
}

function versionsOf(kinds: readonly ServedKind[]): readonly string[] {
  return [...new Set(kinds.map(({ type }) => type.version))];
}

/** The documents of `/api` and below, and of `/apis` and below, by path. */
export function discoveryDocuments(kinds: readonly ServedKind[]): ReadonlyMap<string, object> {
  const groups = [...groupsOf(kinds)].filter(([group]) => group !== "");
  return new Map<string, object>([
    ["/version", serverVersion],
    ["/api", { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] }],
    [
      "/apis",
      { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(([name, members]) => groupOf(name, members)) },
    ],
    ...groups.map(([name, members]): [string, object] => [
      `/apis/${name}`,
      { kind: "APIGroup", apiVersion: "v1", ...groupOf(name, members) },
    ]),
    ...resourceLists(kinds),
  ]);
}

function groupOf(name: string, kinds: readonly ServedKind[]): object {
  const versions = versionsOf(kinds).map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

function resourceLists(kinds: readonly ServedKind[]): [string, object][] {
  return [...groupsOf(kinds)].flatMap(([group, members]) =>
    versionsOf(members).map((version): [string, object] => [
      group === "" ? `/api/${version}` : `/apis/${group}/${version}`,
      {
        kind: "APIResourceList",
        apiVersion: "v1",
        groupVersion: group === "" ? version : `${group}/${version}`,
        resources: members.filter(({ type }) => type.version === version).flatMap(resourcesOf),
      },
    ]),
  );
}

function resourcesOf(kind: ServedKind): readonly object[] {
  const { plural, namespaced } = kind.type;
  return [
    {
      name: plural,
      singularName: kind.singular,
      namespaced,
      kind: kind.type.kind,
      verbs: verbsOf(kind),
      ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
      ...(kind.categories.length > 0 && { categories: kind.categories }),
    },
    ...subresourcesOf(kind).map(({ name, kind: spoken, speaks, verbs }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...speaks,
      kind: spoken,
      verbs,
    })),
  ];
}

/** All groups in one document, for `/api` and `/apis` each, for clients that accept `APIGroupDiscoveryList`. */
export function aggregatedDiscovery(kinds: readonly ServedKind[], path: "/api" | "/apis", version: string): object {
  const groups = [...groupsOf(kinds)].filter(([group]) => (group === "") === (path === "/api"));
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([name, members]) => ({
      metadata: { ...(name !== "" && { name }), creationTimestamp: null },
      versions: versionsOf(members).map((version) => ({
        version,
        freshness: "Current",
        resources: members.filter(({ type }) => type.version === version).map(aggregatedResource),
      })),
    })),
  };
}

function aggregatedResource(kind: ServedKind): object {
  const { group, version, plural, namespaced } = kind.type;
  const subresources = subresourcesOf(kind).map(({ name, kind: spoken, speaks, verbs }) => ({
    subresource: name,
    responseKind: { group, version, ...speaks, kind: spoken },
    verbs,
  }));
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.type.kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  };
}

/** `api/v1`, `apis/agents.x-k8s.io/v1beta1`: the group version's key in the OpenAPI index. */
export function groupVersionPath(kind: ServedKind): string {
  return `${kind.type.group === "" ? "api" : "apis"}/${apiVersionOf(kind.type)}`;
}
