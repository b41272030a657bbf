import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { bodyText } from "./json-text.ts";
import { type KindUnderTest, kindsUnderTest } from "./kinds.ts";
import { valuesOf } from "./values-of.ts";
import type { Place } from "./walk.ts";

/** One value for one field, as a request that an API server accepts or rejects. Nothing is stored. */
export interface FieldCase {
  readonly title: string;
  readonly kind: KindUnderTest;
  readonly part: "spec" | "status";
  readonly body: string;
}

/**
 * Values for the fields of every kind and version. Most fields within a Pod have the same schema as another one; of those, only
 * the first is used.
 */
export function fieldCases(): readonly FieldCase[] {
  const all = casesOfAllKinds();
  return [...new Map(all.map((one) => [one.title, one])).values()];
}

function casesOfAllKinds(): readonly FieldCase[] {
  const seen = new Set<string>();
  const isNew = (kind: KindUnderTest, part: string, { path, schema }: Place) => {
    const where = part === "status" || path.split(".").length <= 2 ? `${kind.apiVersion} ${kind.kind} ${path}` : part;
    const sort = `${where} ${ownRulesOf(schema)}`;
    return !seen.has(sort) && seen.add(sort);
  };
  return kindsUnderTest().flatMap((kind) =>
    (["spec", "status"] as const).flatMap((part) =>
      kind[part]
        .filter((place) => isNew(kind, part, place))
        .flatMap((place) => valuesOf(place.schema).map((value) => caseOf(kind, part, place, value))),
    ),
  );
}

function caseOf(kind: KindUnderTest, part: FieldCase["part"], { path, holding }: Place, value: unknown): FieldCase {
  const title = `${kind.apiVersion} ${kind.kind} ${path} = ${shortened(bodyText(value))}`;
  return { title, kind, part, body: bodyText(holding(value)) };
}

const titleMax = 80;
const shortened = (text: string) =>
  text.length <= titleMax ? text : `${[...text].slice(0, titleMax / 2).join("")}... (${text.length} in all)`;

/** The schema of a value itself, without the fields below it. */
function ownRulesOf({
  description: _description,
  properties,
  items,
  additionalProperties,
  ...own
}: JsonSchema): string {
  const below = [Object.keys(properties ?? {}).length > 0, items?.type, additionalProperties?.type];
  return JSON.stringify([own, below]);
}
