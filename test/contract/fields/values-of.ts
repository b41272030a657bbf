import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { jsonText } from "./json-text.ts";
import { minimal } from "./minimal.ts";

/** Values for one field: at the limits of its schema, a step inside them, and a step outside. */
export function valuesOf(schema: JsonSchema): readonly unknown[] {
  return [...ofAnyType, ...numbersOf(schema), ...textsOf(schema), ...listsOf(schema), ...objectsOf(schema)];
}

const ofAnyType = ["x", "", 5, -1, 1.5, true, {}, { unknown: 1 }, [], ["x"], [null], null];
const numerals = ["1.0", "1e2", "1.5e1", "1e-1", "-0", "0", "9007199254740993", "1e30"];
const limits = ["2147483647", "2147483648", "-2147483648", "-2147483649"];
const longLimits = ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"];

function numbersOf(schema: JsonSchema): readonly unknown[] {
  const { type, minimum, maximum } = schema;
  if (type !== "integer" && type !== "number" && !schema["x-kubernetes-int-or-string"]) return [];
  const borders = [minimum, maximum].flatMap((border) =>
    border === undefined ? [] : [border - 1, border, border + 1],
  );
  return [...borders, ...[...numerals, ...limits, ...longLimits].map(jsonText)];
}

const patternTexts = [
  " ",
  "A",
  "-a",
  "a-",
  "1",
  "1Gi",
  "1e3",
  "1E",
  "1e",
  "-1",
  "+1",
  ".5",
  "5.",
  "1k",
  "1K",
  "a/b",
  "A/b",
];
const morePatternTexts = [
  "a\n",
  "1\n",
  "/",
  "/a",
  "/a\n",
  "\n/a",
  "a,b:c",
  "a_",
  "_a",
  "ü",
  "a/",
  "/",
  "a/b/c",
  "a.b/c",
];

function textsOf(schema: JsonSchema): readonly unknown[] {
  const { enum: allowed = [], pattern, minLength, maxLength, format } = schema;
  const start = pattern?.startsWith("^/") ? "/" : "a";
  const lengths = [minLength, maxLength].flatMap((border) =>
    border === undefined ? [] : [border - 1, border, border + 1].filter((length) => length >= 0),
  );
  return [
    ...allowed.flatMap((one) => [one, one.toLowerCase(), `${one} `]),
    ...(pattern === undefined ? [] : [...patternTexts, ...morePatternTexts]),
    ...lengths.flatMap((length) => [start.padEnd(length, "a"), `${start.padEnd(length - 1, "ü")}a`]),
    ...lengths.map((length) => start + "😀".repeat(Math.max(0, length - 1))),
    ...(format === "date-time"
      ? ["2099-01-01T00:00:00Z", "2099-01-01T00:00:00.123456789+01:00", "2099-02-30T00:00:00Z"]
      : []),
    ...(format === "byte" ? ["YQ==", "YQ=", "YQ", "Y_==", "YWI=", "\n"] : []),
  ];
}

function listsOf({ items, maxItems, ...schema }: JsonSchema): readonly unknown[] {
  if (!items) return [];
  const one = minimal(items);
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const other = (at: number) => {
    const last = keys.at(-1);
    if (last === undefined || typeof one !== "object") return typeof one === "string" ? `${one}${at}` : one;
    const isText = items.properties?.[last]?.type === "string" && !items.properties[last]?.enum;
    return { ...one, [last]: isText ? `k${at}` : at + 1 };
  };
  const many = (count: number) => Array.from({ length: count }, (_, at) => other(at));
  return [
    [one],
    [one, one],
    [one, one, one],
    many(2),
    [...many(2), other(0)],
    [one, null],
    ...(maxItems === undefined ? [] : [many(maxItems), many(maxItems + 1)]),
  ];
}

function objectsOf(schema: JsonSchema): readonly unknown[] {
  if (schema.type !== "object") return [];
  const least = minimal(schema) as Readonly<Record<string, unknown>>;
  const required = schema.required ?? [];
  const without = required.map((missing) =>
    Object.fromEntries(Object.entries(least).filter(([key]) => key !== missing)),
  );
  return [
    least,
    ...without,
    ...required.map((key) => ({ ...least, [key]: null })),
    { ...least, unknown: { deep: [1] } },
    { ...least, unknown: null },
    { ...least, "": 1, "a.b": "x", constructor: "x" },
    ...(schema.additionalProperties
      ? [{ a: minimal(schema.additionalProperties) }, { "a b/ü": minimal(schema.additionalProperties), "": null }]
      : []),
  ];
}
