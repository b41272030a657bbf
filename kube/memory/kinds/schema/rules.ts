import { CelScalar, celEnv, celMethod, isCelError, listType, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import type { StatusCause } from "../../../../api/meta.ts";
import { isJsonObject } from "../../json-values.ts";
import type { OpenApiSchema, SchemaRule } from "../../served-kind.ts";
import { invalid, invalidWithoutValue } from "./causes.ts";

/** Adds the rules that an object breaks to `causes`; `old` is the value at the same place before the update. */
export type CheckRules = (value: unknown, old: unknown, path: string, causes: StatusCause[]) => void;

// An optional value is a list of one or none here: the evaluator has no type of its own for it.
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

/** The `x-kubernetes-validations` of a schema and of all below it; undefined when there are none. */
export function compileRules(schema: OpenApiSchema): CheckRules | undefined {
  const checks = [
    ...(schema["x-kubernetes-validations"] ?? []).map((rule) => compileRule(rule)),
    compileProperties(schema),
    compileItems(schema),
  ].filter((check) => check !== undefined);
  if (checks.length === 0) return undefined;
  return (value, old, path, causes) => {
    // Rules see values only: a null or a missing field is the business of the rules around it.
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
    // JSON is what the evaluator takes; its types just do not say so of values of unknown shape.
    const result = evaluate({ self: self as never, oldSelf: before as never });
    if (result === true) return;
    const text = isCelError(result) ? `${result.message} evaluating rule: ${detail}` : detail;
    // An API server calls the root by what its language prints for no path at all.
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
    for (const { key, check } of checks) check(value[key], before[key], prefix + key, causes);
    if (others) for (const key in value) others(value[key], before[key], prefix + key, causes);
  };
}

function compileItems(schema: OpenApiSchema): CheckRules | undefined {
  const check = schema.items ? compileRules(schema.items) : undefined;
  if (!check) return undefined;
  const keys = schema["x-kubernetes-list-type"] === "map" ? schema["x-kubernetes-list-map-keys"] : undefined;
  return (value, old, path, causes) => {
    if (!Array.isArray(value)) return;
    for (const [index, item] of value.entries()) check(item, counterpart(item, old, keys), `${path}[${index}]`, causes);
  };
}

/** Only lists of type map say which old item an item was. */
function counterpart(item: unknown, old: unknown, keys: readonly string[] | undefined): unknown {
  if (!keys || !Array.isArray(old) || !isJsonObject(item)) return undefined;
  return old.find((other) => isJsonObject(other) && keys.every((key) => other[key] === item[key]));
}
