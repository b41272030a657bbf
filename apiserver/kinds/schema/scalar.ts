import { isDate, isDateTime } from "../../../api/rules/timestamps.ts";
import { ownField } from "../../../lib/data/own-fields.ts";
import type { OpenApiSchema } from "../../served-kind.ts";
import { invalid, tooLong, typeInvalid } from "./causes.ts";
import type { Validate } from "./check.ts";

/** The checks of strings and numbers in a schema. */
export function compileScalar(schema: OpenApiSchema): readonly Validate[] {
  return [...compileLength(schema), ...compilePattern(schema), ...compileFormat(schema), ...compileRange(schema)];
}

function compileLength({ minLength, maxLength }: OpenApiSchema): readonly Validate[] {
  if (minLength === undefined && maxLength === undefined) return [];
  return [
    (value, path, causes) => {
      if (typeof value !== "string") return;
      const length = [...value].length;
      if (maxLength !== undefined && length > maxLength) causes.push(tooLong(path, maxLength));
      if (minLength !== undefined && length < minLength) {
        causes.push(invalid(path, value, `${path} in body should be at least ${minLength} chars long`));
      }
    },
  ];
}

function compilePattern({ pattern }: OpenApiSchema): readonly Validate[] {
  if (pattern === undefined) return [];
  const expression = new RegExp(pattern);
  return [
    (value, path, causes) => {
      if (typeof value !== "string" || expression.test(value)) return;
      causes.push(invalid(path, value, `${path} in body should match '${pattern}'`));
    },
  ];
}

/** String formats that API servers check. They accept any string for an unknown format. */
const stringFormats: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": isDateTime,
  date: isDate,
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
};

const integerLimits: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function compileFormat(schema: OpenApiSchema): readonly Validate[] {
  const { format, type } = schema;
  if (schema["x-kubernetes-int-or-string"]) return [withinLimit("integer", "int64", "(default format)")];
  if (format === undefined) return [];
  const isValid = type === "string" ? ownField(stringFormats, format) : undefined;
  if (isValid) {
    return [
      (value, path, causes) => {
        if (typeof value !== "string" || isValid(value)) return;
        causes.push(typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`));
      },
    ];
  }
  return type === "integer" && ownField(integerLimits, format) !== undefined
    ? [withinLimit(type, format, `with format ${format}`)]
    : [];
}

/** API servers name neither the field nor the value of a number outside of its format. */
function withinLimit(type: string, format: string, wording: string): Validate {
  const limit = ownField(integerLimits, format) ?? Number.POSITIVE_INFINITY;
  return (value, path, causes) => {
    if (typeof value !== "number" || (value >= -limit && value < limit)) return;
    causes.push(invalid("<nil>", undefined, `Checked value must be of type ${type} ${wording} in ${path}`));
  };
}

function compileRange(schema: OpenApiSchema): readonly Validate[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum === undefined && maximum === undefined) return [];
  return [
    (value, path, causes) => {
      if (typeof value !== "number") return;
      if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
        const wording = exclusiveMinimum ? "greater than" : "greater than or equal to";
        causes.push(invalid(path, value, `${path} in body should be ${wording} ${minimum}`));
      }
      if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
        const wording = exclusiveMaximum ? "less than" : "less than or equal to";
        causes.push(invalid(path, value, `${path} in body should be ${wording} ${maximum}`));
      }
    },
  ];
}
