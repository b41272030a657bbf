import type { OpenApiSchema } from "../../served-kind.ts";

export interface TypeComplaint {
  readonly wanted: string;
  readonly actual: string;
}

/** What an API server says about a value of the wrong type; undefined when the type is right. */
export function typeComplaint(schema: OpenApiSchema, value: unknown): TypeComplaint | undefined {
  const wanted = schema["x-kubernetes-int-or-string"] ? "integer,string" : schema.type;
  if (wanted === undefined) return undefined;
  if (value === null) return schema.nullable ? undefined : { wanted, actual: "null" };
  const { type: actual, format } = typeOf(value);
  if (wanted.includes(actual) || (wanted === "number" && actual === "integer")) return undefined;
  // The validator of API servers names formats where the value's own type could carry one: a quirk worth keeping.
  const comparesFormats = schema.format !== undefined && actual !== "string" && actual !== "array";
  return comparesFormats ? { wanted: schema.format, actual: format } : { wanted, actual };
}

function typeOf(value: unknown): { readonly type: string; readonly format: string } {
  if (Array.isArray(value)) return { type: "array", format: "" };
  if (typeof value !== "number") return { type: typeof value, format: "" };
  return Number.isInteger(value) ? { type: "integer", format: "int64" } : { type: "number", format: "float64" };
}
