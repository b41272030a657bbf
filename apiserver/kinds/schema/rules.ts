import { CelScalar, celEnv, celMethod, isCelError, listType, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import type { StatusCause } from "../../../api/kinds/meta.ts";
import { ownField } from "../../../lib/data/own-fields.ts";
import { isJsonObject, type JsonObject } from "../../json-values.ts";
import type { OpenApiSchema, SchemaRule } from "../../served-kind.ts";
import { invalid, invalidWithoutValue } from "./causes.ts";

/** Appends the violated rules of an object to `causes`; `old` is the value at the same path before the update. */
export type CheckRules = (value: unknown, old: unknown, path: string, causes: StatusCause[]) => void;

// An optional value is a list of length zero or one here: the evaluator has no optional type.
const optional = listType(CelScalar.DYN);
const optionals = [
  celMethod("hasValue", optional, [], CelScalar.BOOL, function () {
    return this.size > 0;
  }),
  celMethod("value", optional, [], CelScalar.DYN, function () {
    return this.get(0) ?? null;
  }),
];

const environment = celEnv({ funcs: [...strings, ...optionals] });

/** The `x-kubernetes-validations` of a schema and its subschemas; undefined if there are none. */
export function compileRules(schema: OpenApiSchema): CheckRules | undefined {
  const checks = [
    ...(schema["x-kubernetes-validations"] ?? []).map((rule) => compileRule(rule)),
    compileProperties(schema),
    compileItems(schema),
  ].filter((check) => check !== undefined);
  if (checks.length === 0) return undefined;
  return (value, old, path, causes) => {
    // Rules are evaluated for present values only; an outer rule may check absence.
    if (value === null || value === undefined) return;
    for (const check of checks) check(value, old, path, causes);
  };
}

function compileRule({ rule, message, optionalOldSelf = false }: SchemaRule): CheckRules {
  const evaluate = plan(environment, parse(rule));
  const isTransition = !optionalOldSelf && /\boldSelf\b/.test(rule);
  const detail = message ?? `failed rule: ${rule}`;
  return (self, oldSelf, path, causes) => {
    const isNew = oldSelf === undefined || oldSelf === null;
    if (isTransition && isNew) return;
    const before = optionalOldSelf ? (isNew ? [] : [oldSelf]) : oldSelf;
    // The evaluator accepts JSON, but its types do not cover values of unknown shape.
    const result = evaluate({ self: self as never, oldSelf: before as never });
    if (result === true) return;
    const text = isCelError(result) ? `${result.message} evaluating rule: ${detail}` : detail;
    // An API server names the root `<nil>`, Go's text for a nil path.
    const field = path === "" ? "<nil>" : path;
    causes.push(typeof self === "object" ? invalidWithoutValue(field, text) : invalid(field, self, text));
  };
}

function compileProperties(schema: OpenApiSchema): CheckRules | undefined {
  const checks = Object.entries(schema.properties ?? {}).flatMap(([key, child]) => {
    const check = compileRules(child);
    return check ? [{ key, check }] : [];
  });
  const others =
    typeof schema.additionalProperties === "object" ? compileRules(schema.additionalProperties) : undefined;
  if (checks.length === 0 && !others) return undefined;
  return (value, old, path, causes) => {
    if (!isJsonObject(value)) return;
    const before = isJsonObject(old) ? old : {};
    const prefix = path === "" ? "" : `${path}.`;
    for (const { key, check } of checks) check(ownField(value, key), ownField(before, key), prefix + key, causes);
    if (others) for (const key in value) others(value[key], ownField(before, key), prefix + key, causes);
  };
}

function compileItems(schema: OpenApiSchema): CheckRules | undefined {
  const check = schema.items ? compileRules(schema.items) : undefined;
  if (!check) return undefined;
  const keys = schema["x-kubernetes-list-type"] === "map" ? schema["x-kubernetes-list-map-keys"] : undefined;
  return (value, old, path, causes) => {
    if (!Array.isArray(value)) return;
    const counterpartOf = counterparts(old, keys);
    for (const [index, item] of value.entries()) check(item, counterpartOf(item), `${path}[${index}]`, causes);
  };
}

/** Only lists of type map identify the old item of an item. */
function counterparts(old: unknown, keys: readonly string[] | undefined): (item: unknown) => unknown {
  if (!keys || !Array.isArray(old)) return () => undefined;
  const keyOf = (item: JsonObject) => JSON.stringify(keys.map((key) => ownField(item, key)));
  const byKey = new Map<string, unknown>();
  for (const item of old.filter(isJsonObject).reverse()) byKey.set(keyOf(item), item);
  return (item) => (isJsonObject(item) ? byKey.get(keyOf(item)) : undefined);
}
