import { ownField, setField } from "../../../lib/data/own-fields.ts";
import { isJsonObject } from "../../json-values.ts";
import type { OpenApiSchema } from "../../served-kind.ts";

/** Returns the value with defaults; the same value if nothing changed. */
export type ApplyDefaults = (value: unknown) => unknown;

/**
 * Defaulting of a structural schema, as in an API server: a default is set for a missing key of an existing object, and
 * gets defaults itself. A null that the schema does not allow counts as missing and is removed.
 */
export function compileDefaults(schema: OpenApiSchema): ApplyDefaults {
  return compile(schema) ?? ((value) => value);
}

interface Property {
  readonly key: string;
  readonly schema: OpenApiSchema;
  readonly below: ApplyDefaults | undefined;
}

function compile(schema: OpenApiSchema): ApplyDefaults | undefined {
  if (schema.items) return compileList(schema.items);
  const properties = Object.entries(schema.properties ?? {}).map(
    ([key, child]): Property => ({ key, schema: child, below: compile(child) }),
  );
  if (typeof schema.additionalProperties === "object") return compileMap(schema.additionalProperties);
  if (properties.length === 0) return undefined;
  return (value) => (isJsonObject(value) ? defaultProperties(value, properties) : value);
}

function compileList(items: OpenApiSchema): ApplyDefaults | undefined {
  const below = compile(items);
  if (!below) return undefined;
  return (value) => {
    if (!Array.isArray(value)) return value;
    const after = value.map(below);
    return after.some((item, index) => item !== value[index]) ? after : value;
  };
}

function compileMap(values: OpenApiSchema): ApplyDefaults {
  const below = compile(values);
  return (value) => {
    if (!isJsonObject(value)) return value;
    let changed: Record<string, unknown> | undefined;
    for (const key in value) {
      const before = value[key];
      const after = before === null && !values.nullable ? undefined : below ? below(before) : before;
      if (after === before) continue;
      changed ??= { ...value };
      if (after === undefined) delete changed[key];
      else setField(changed, key, after);
    }
    return changed ?? value;
  };
}

function defaultProperties(
  value: Readonly<Record<string, unknown>>,
  properties: readonly Property[],
): Readonly<Record<string, unknown>> {
  let changed: Record<string, unknown> | undefined;
  for (const { key, schema, below } of properties) {
    const before = ownField(value, key);
    const missing = before === undefined || (before === null && !schema.nullable);
    const start = missing ? freshDefault(schema) : before;
    const after = below && start !== undefined ? below(start) : start;
    if (after === before) continue;
    changed ??= { ...value };
    if (after === undefined) delete changed[key];
    else setField(changed, key, after);
  }
  return changed ?? value;
}

function freshDefault({ default: value }: OpenApiSchema): unknown {
  return typeof value === "object" ? structuredClone(value) : value;
}
