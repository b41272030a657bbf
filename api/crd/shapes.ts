// Building blocks of the definitions. A schema is plain data; these functions keep it readable.
import type { JsonSchema } from "./json-schema.ts";

export const text = { type: "string" } as const satisfies JsonSchema;
export const bool = { type: "boolean" } as const satisfies JsonSchema;
export const int32 = { type: "integer", format: "int32" } as const satisfies JsonSchema;
export const int64 = { type: "integer", format: "int64" } as const satisfies JsonSchema;
/** RFC 3339. */
export const time = { type: "string", format: "date-time" } as const satisfies JsonSchema;

export const intOrString = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
} as const satisfies JsonSchema;

/** A quantity such as `500m`, `1Gi` or `2`; the pattern is the one of `resource.Quantity`. */
export const quantity = {
  ...intOrString,
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
} as const satisfies JsonSchema;

export const oneOf = (...values: readonly string[]): JsonSchema => ({ ...text, enum: values });

/** An object with these fields. A star at the end of a name (`"port*"`) marks a required field. */
export function object(fields: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([name]) => name.endsWith("*")).map(([name]) => withoutStar(name));
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, schema]) => [withoutStar(name), schema])),
    ...(required.length > 0 && { required: required.sort() }),
  };
}

/** An object that server-side apply replaces as a whole. */
export const atomicObject = (fields: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  ...object(fields),
  "x-kubernetes-map-type": "atomic",
});

export const mapOf = (values: JsonSchema): JsonSchema => ({ type: "object", additionalProperties: values });

/** A map that server-side apply replaces as a whole. */
export const atomicMapOf = (values: JsonSchema): JsonSchema => ({
  ...mapOf(values),
  "x-kubernetes-map-type": "atomic",
});

/** A list without a list type, which server-side apply treats as atomic. */
export const plainListOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });

/** A list that server-side apply replaces as a whole. */
export const listOf = (items: JsonSchema): JsonSchema => ({
  ...plainListOf(items),
  "x-kubernetes-list-type": "atomic",
});

export const setOf = (items: JsonSchema): JsonSchema => ({ ...plainListOf(items), "x-kubernetes-list-type": "set" });

/** A list whose items are identified by `keys`; each key must be required or have a default. */
export const listMapOf = (items: JsonSchema, ...keys: readonly string[]): JsonSchema => ({
  ...plainListOf(items),
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});

export const withDefault = (schema: JsonSchema, value: string | number | boolean): JsonSchema => ({
  ...schema,
  default: value,
});

/** The schema with a description, which `kubectl explain` prints. */
export const described = (description: string, schema: JsonSchema): JsonSchema => ({ ...schema, description });

const withoutStar = (name: string): string => (name.endsWith("*") ? name.slice(0, -1) : name);
