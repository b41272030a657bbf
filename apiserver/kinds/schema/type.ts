import type { OpenApiSchema } from "../../served-kind.ts";

export interface TypeComplaint {
  readonly wanted: string;
  readonly actual: string;
}

/** The type error of a value, in the words of an API server; undefined if the type is right. */
export function typeComplaint(schema: OpenApiSchema, value: unknown): TypeComplaint | undefined {
  const wanted = schema["x-kubernetes-int-or-string"] ? "integer,string" : schema.type;
  if (wanted === undefined) return undefined;
  if (value === null) return schema.nullable ? undefined : { wanted, actual: "null" };
  const { type: actual, format } = typeOf(value);
  // `TypeValidator` of kube-openapi leaves lists, like strings, to the check of the format, which checks only strings.
  if (schema.type === "string" && schema.format !== undefined && actual === "array") return undefined;
  if (wanted.includes(actual) || (wanted === "number" && actual === "integer")) return undefined;
  // API servers' validator names formats if the value's own type could have one. This quirk is reproduced.
  const comparesFormats = schema.format !== undefined && actual !== "string" && actual !== "array";
  return comparesFormats ? { wanted: schema.format, actual: format } : { wanted, actual };
}

// API servers store an integer in an int64, and a larger one as a float.
const int64End = 2 ** 63;

function typeOf(value: unknown): { readonly type: string; readonly format: string } {
  if (Array.isArray(value)) return { type: "array", format: "" };
  if (typeof value !== "number") return { type: typeof value, format: "" };
  return Number.isInteger(value) && value >= -int64End && value < int64End
    ? { type: "integer", format: "int64" }
    : { type: "number", format: "float64" };
}
