import { ownField } from "../../../lib/data/own-fields.ts";
import { isJsonObject, sameJson } from "../../json-values.ts";
import type { OpenApiSchema } from "../../served-kind.ts";
import { invalid, notSupported, required, tooMany, typeInvalid } from "./causes.ts";
import type { Validate } from "./check.ts";
import { compileListType } from "./list-type.ts";
import { compileScalar } from "./scalar.ts";
import { typeComplaint } from "./type.ts";

export interface ValidateOptions {
  /** Whether lists of type set and map reject duplicates. Built-in kinds have rules for each field. */
  readonly listTypes: boolean;
}

/**
 * Compiles all checks of single values in a schema; rules are compiled separately. The texts are those of an API server
 * for custom resources.
 */
export function compileValidate(schema: OpenApiSchema, options: ValidateOptions): Validate {
  const below = [
    ...compileObject(schema, options),
    ...compileList(schema, options),
    ...compileScalar(schema),
    ...compileEnum(schema),
  ];
  return (value, path, causes) => {
    const complaint = typeComplaint(schema, value);
    if (complaint) {
      causes.push(
        typeInvalid(
          path,
          complaint.actual,
          `${path} in body must be of type ${complaint.wanted}: "${complaint.actual}"`,
        ),
      );
      return;
    }
    if (value === null) return;
    for (const check of below) check(value, path, causes);
  };
}

function compileEnum({ enum: allowed }: OpenApiSchema): readonly Validate[] {
  if (!allowed) return [];
  return [
    (value, path, causes) => {
      if (!allowed.some((one) => sameJson(one, value))) causes.push(notSupported(path, value, allowed));
    },
  ];
}

function compileObject(schema: OpenApiSchema, options: ValidateOptions): readonly Validate[] {
  const properties = new Map(
    Object.entries(schema.properties ?? {}).map(([key, child]) => [key, compileValidate(child, options)]),
  );
  const others =
    typeof schema.additionalProperties === "object" ? compileValidate(schema.additionalProperties, options) : undefined;
  const { required: needed = [], minProperties = 0 } = schema;
  if (properties.size === 0 && !others && needed.length === 0 && minProperties === 0) return [];
  return [
    (value, path, causes) => {
      if (!isJsonObject(value)) return;
      const prefix = path === "" ? "" : `${path}.`;
      for (const key of needed) if (ownField(value, key) === undefined) causes.push(required(prefix + key));
      if (Object.keys(value).length < minProperties) {
        causes.push(invalid(path, value, `${path} in body should have at least ${minProperties} properties`));
      }
      for (const key in value) (properties.get(key) ?? others)?.(value[key], prefix + key, causes);
    },
  ];
}

function compileList(schema: OpenApiSchema, options: ValidateOptions): readonly Validate[] {
  const { minItems, maxItems } = schema;
  const checks: Validate[] = [];
  if (maxItems !== undefined || minItems !== undefined) {
    checks.push((value, path, causes) => {
      if (!Array.isArray(value)) return;
      if (maxItems !== undefined && value.length > maxItems) causes.push(tooMany(path, value.length, maxItems));
      if (minItems !== undefined && value.length < minItems) {
        causes.push(invalid(path, value, `${path} in body should have at least ${minItems} items`));
      }
    });
  }
  if (schema.items) {
    const item = compileValidate(schema.items, options);
    checks.push((value, path, causes) => {
      if (Array.isArray(value)) for (const [index, one] of value.entries()) item(one, `${path}[${index}]`, causes);
    });
  }
  return options.listTypes ? [...checks, ...compileListType(schema)] : checks;
}
