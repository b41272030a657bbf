import { ownField } from "../../../lib/data/own-fields.ts";
import { isJsonObject } from "../../json-values.ts";
import type { OpenApiSchema } from "../../served-kind.ts";
import { duplicate } from "./causes.ts";
import type { Validate } from "./check.ts";

/** Lists of type set have no duplicate value, lists of type map no duplicate key. */
export function compileListType(schema: OpenApiSchema): readonly Validate[] {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return [refuseDuplicates((item) => item)];
    case "map":
      return [refuseDuplicates(mapKeys(schema["x-kubernetes-list-map-keys"] ?? [], schema.items))];
    default:
      return [];
  }
}

function mapKeys(keys: readonly string[], items: OpenApiSchema | undefined): (item: unknown) => unknown {
  return (item) => {
    if (!isJsonObject(item)) return item;
    return Object.fromEntries(
      keys.map((key) => [key, ownField(item, key) ?? ownField(items?.properties, key)?.default]),
    );
  };
}

function refuseDuplicates(identityOf: (item: unknown) => unknown): Validate {
  return (value, path, causes) => {
    if (!Array.isArray(value) || value.length < 2) return;
    const counts = new Map<string, number>();
    for (const [index, item] of value.entries()) {
      const identity = identityOf(item);
      const text = JSON.stringify(identity);
      const count = (counts.get(text) ?? 0) + 1;
      // An API server reports each duplicate once.
      if (count === 2) causes.push(duplicate(`${path}[${index}]`, identity));
      counts.set(text, count);
    }
  };
}
