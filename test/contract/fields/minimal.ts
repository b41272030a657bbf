import type { JsonSchema } from "../../../api/crd/json-schema.ts";

const samples = ["a", "1", "/a"];

/** The smallest valid value of a schema: the required fields of an object, and the keys of list items. */
export function minimal(schema: JsonSchema): unknown {
  if (schema["x-kubernetes-int-or-string"]) return 1;
  switch (schema.type) {
    case "object":
      return minimalObject(schema);
    case "array":
      return [];
    case "integer":
    case "number":
      return schema.minimum ?? Math.min(1, schema.maximum ?? 1);
    case "boolean":
      return true;
    default:
      return minimalText(schema);
  }
}

function minimalObject({ required = [], properties = {} }: JsonSchema): object {
  return Object.fromEntries(required.map((key) => [key, minimal(properties[key] ?? {})]));
}

function minimalText({ enum: allowed, pattern, format }: JsonSchema): string {
  if (allowed) return allowed[0] ?? "";
  if (format === "date-time") return "2099-01-01T00:00:00Z";
  if (format === "byte") return "YQ==";
  return samples.find((text) => pattern === undefined || new RegExp(pattern).test(text)) ?? "";
}
