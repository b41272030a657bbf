import { resourcePath } from "../../../api/resource-type.ts";
import type { OpenApiSchema, ServedKind } from "../served-kind.ts";
import { groupVersionPath, serverVersion } from "./discovery.ts";

/**
 * The OpenAPI v3 documents, one for each version of a group, by their place in the index. They say what kubectl asks
 * for: the schema of each kind for `explain`, and which query parameters a patch takes, by which it decides whether the
 * server validates fields and knows dry runs.
 */
export function openApiDocuments(kinds: readonly ServedKind[]): ReadonlyMap<string, object> {
  const places = [...new Set(kinds.map(groupVersionPath))];
  return new Map(places.map((place) => [place, documentOf(kinds.filter((kind) => groupVersionPath(kind) === place))]));
}

function documentOf(kinds: readonly ServedKind[]): object {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: serverVersion.gitVersion },
    paths: Object.fromEntries(kinds.flatMap(pathsOf)),
    components: {
      schemas: { ...sharedSchemas, ...Object.fromEntries(kinds.map((kind) => [schemaName(kind), schemaOf(kind)])) },
    },
  };
}

/** `io.x-k8s.agents.v1beta1.Sandbox`: the group from its end to its beginning. */
function schemaName({ type }: ServedKind): string {
  const group = type.group === "" ? "io.k8s.api.core" : type.group.split(".").reverse().join(".");
  return `${group}.${type.version}.${type.kind}`;
}

const groupVersionKind = ({ type: { group, version, kind } }: ServedKind): object => ({ group, version, kind });

function schemaOf(kind: ServedKind): object {
  return { ...published(kind.schema), "x-kubernetes-group-version-kind": [groupVersionKind(kind)] };
}

/**
 * Types that are a number or a string on the wire. As they have no type of their own, `explain` prints the end of their
 * names.
 */
const sharedSchemas = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
    format: "int-or-string",
    oneOf: [{ type: "integer" }, { type: "string" }],
  },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { oneOf: [{ type: "string" }, { type: "number" }] },
};

function reference(name: keyof typeof sharedSchemas, description: string | undefined): object {
  return { ...(description && { description }), allOf: [{ $ref: `#/components/schemas/${name}` }] };
}

/** A schema as clients read it. */
function published(schema: OpenApiSchema): object {
  if (schema["x-kubernetes-int-or-string"]) {
    const isQuantity = schema.pattern !== undefined;
    const name = isQuantity
      ? "io.k8s.apimachinery.pkg.api.resource.Quantity"
      : "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    return reference(name, schema.description);
  }
  const { properties, items, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, published(child)])),
    }),
    ...(items && { items: published(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: published(additionalProperties) }),
  };
}

const queryParameter = (name: string, description: string): object => ({
  name,
  in: "query",
  description,
  schema: { type: "string", uniqueItems: true },
});

const writeParameters = [
  queryParameter("dryRun", "All: everything is done but the write."),
  queryParameter("fieldManager", "Who writes."),
  queryParameter("fieldValidation", "What happens to unknown fields: Ignore, Warn or Strict."),
];

function pathsOf(kind: ServedKind): [string, object][] {
  const { namespaced } = kind.type;
  const collection = resourcePath(kind.type, {}).replace(
    kind.type.plural,
    namespaced ? `namespaces/{namespace}/${kind.type.plural}` : kind.type.plural,
  );
  const ofObject = {
    get: operation(kind, "get", []),
    put: operation(kind, "put", writeParameters),
    patch: patchOperation(kind),
    delete: operation(kind, "delete", [queryParameter("dryRun", "All: everything is done but the deletion.")]),
  };
  return [
    [collection, { get: operation(kind, "list", []), post: operation(kind, "post", writeParameters) }],
    [`${collection}/{name}`, ofObject],
    ...(kind.hasStatus
      ? [
          [`${collection}/{name}/status`, { get: operation(kind, "get", []), patch: patchOperation(kind) }] as [
            string,
            object,
          ],
        ]
      : []),
  ];
}

function operation(kind: ServedKind, action: string, parameters: readonly object[]): object {
  const schema = { $ref: `#/components/schemas/${schemaName(kind)}` };
  return {
    parameters,
    responses: { "200": { description: "OK", content: { "application/json": { schema } } } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": groupVersionKind(kind),
  };
}

/**
 * Strategic merge patches are taken but not listed: a client that finds them here computes patches from this schema,
 * and one that does not uses the types that it was built with, which know more.
 */
function patchOperation(kind: ServedKind): object {
  const types = ["application/json-patch+json", "application/merge-patch+json"];
  return {
    ...operation(kind, "patch", writeParameters),
    requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }])) },
  };
}
