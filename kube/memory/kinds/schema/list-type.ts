import { isJsonObject } from "../../json-values.ts";
import type { OpenApiSchema } from "../../served-kind.ts";
import { duplicate } from "./causes.ts";
import type { Validate } from "./check.ts";

/** Lists of type set hold no value twice, lists of type map no combination of their keys. */
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
    return Object.fromEntries(keys.map((key) => [key, item[key] ?? items?.properties?.[key]?.default]));
  };
}

function refuseDuplicates(identityOf: (item: unknown) => unknown): Validate {
  return (value, path, causes) => {
    if (!Array.isArray(value) || value.length < 2) return;
    const seen = new Set<string>();
    for (const [index, item] of value.entries()) {
      const identity = identityOf(item);
      const text = JSON.stringify(identity);
      if (seen.has(text)) causes.push(duplicate(`${path}[${index}]`, identity));
      seen.add(text);
    }
  };
}
