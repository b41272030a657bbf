import { resourcePath } from "../../api/kinds/resource-type.ts";
import type { OpenApiSchema, ServedKind } from "../served-kind.ts";
import { groupVersionPath, serverVersion } from "./discovery.ts";

/**
 * The OpenAPI v3 documents, one for each version of a group, by their path in the index. They have the data that
 * kubectl requests: the schema of each kind for `explain`, and the query parameters of a patch, by which it decides
 * whether the server supports field validation and dry runs.
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

/** `io.x-k8s.agents.v1beta1.Sandbox`: the group reversed. */
function schemaName({ type }: ServedKind): string {
  const group = type.group === "" ? "io.k8s.api.core" : type.group.split(".").reverse().join(".");
  return `${group}.${type.version}.${type.kind}`;
}

const groupVersionKind = ({ type: { group, version, kind } }: ServedKind): object => ({ group, version, kind });

function schemaOf(kind: ServedKind): object {
  return { ...published(kind.schema), "x-kubernetes-group-version-kind": [groupVersionKind(kind)] };
}

/**
 * Types that are a number or a string in JSON. They have no type of their own, so `explain` prints the end of their
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

/** A schema in the form for clients. */
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
  queryParameter("dryRun", "All: process the request without storing it."),
  queryParameter("fieldManager", "The name of the client."),
  queryParameter("fieldValidation", "Handling of unknown fields: Ignore, Warn or Strict."),
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
    delete: operation(kind, "delete", [queryParameter("dryRun", "All: validate the deletion without deleting.")]),
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
 * Strategic merge patches are accepted but not listed: a client that finds them here computes patches from this schema.
 * Otherwise it uses its built-in types, which are more complete.
 */
function patchOperation(kind: ServedKind): object {
  const types = ["application/json-patch+json", "application/merge-patch+json"];
  return {
    ...operation(kind, "patch", writeParameters),
    requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }])) },
  };
}
