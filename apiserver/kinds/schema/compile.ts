import type { StatusCause } from "../../../api/kinds/meta.ts";
import type { OpenApiSchema } from "../../served-kind.ts";
import { compileDefaults } from "./default.ts";
import { compilePrune } from "./prune.ts";
import { compileRules } from "./rules.ts";
import { compileValidate, type ValidateOptions } from "./validate.ts";

/** A compiled schema, so that a write costs only the values in it. */
export interface CompiledSchema {
  /** The value without unknown fields, and the paths of the removed ones. */
  readonly prune: <T>(value: T) => { readonly value: T; readonly unknownFields: readonly string[] };
  readonly applyDefaults: <T>(value: T) => T;
  /** `old` is the stored value, for transition rules; undefined on create. */
  readonly validate: (value: unknown, old: unknown) => readonly StatusCause[];
}

// A rule could not be evaluated with these faults. An API server skips the rules then, and reports this.
const blocksRules = new Set(["FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"]);

const rulesLeftOut: StatusCause = {
  reason: "FieldValueInvalid",
  field: "<nil>",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
};

export function compileSchema(schema: OpenApiSchema, options: ValidateOptions = { listTypes: true }): CompiledSchema {
  const prune = compilePrune(schema);
  const applyDefaults = compileDefaults(schema);
  const validate = compileValidate(schema, options);
  const checkRules = compileRules(schema);
  return {
    prune: <T>(value: T) => {
      const unknownFields: string[] = [];
      // Pruning only removes keys, and defaulting only adds known ones: the type stays.
      return { value: prune(value, "", unknownFields) as T, unknownFields };
    },
    applyDefaults: <T>(value: T) => applyDefaults(value) as T,
    validate: (value, old) => {
      const causes: StatusCause[] = [];
      validate(value, "", causes);
      if (!checkRules) return causes;
      if (causes.some(({ reason }) => blocksRules.has(reason))) causes.push(rulesLeftOut);
      else checkRules(value, old, "", causes);
      return causes;
    },
  };
}
