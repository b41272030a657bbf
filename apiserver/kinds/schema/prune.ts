import { setField } from "../../../lib/data/own-fields.ts";
import { isJsonObject } from "../../json-values.ts";
import type { OpenApiSchema } from "../../served-kind.ts";

/** Returns the value without unknown fields; the same value if nothing changed. */
export type Prune = (value: unknown, path: string, dropped: string[]) => unknown;

const keep: Prune = (value) => value;

/**
 * Pruning of a structural schema: keys that are neither in `properties` nor allowed by `additionalProperties` are
 * removed, except below `x-kubernetes-preserve-unknown-fields`. Values of the wrong type are left to validation.
 */
export function compilePrune(schema: OpenApiSchema): Prune {
  const objects = compileObject(schema);
  const items = schema.items ? compilePrune(schema.items) : keep;
  if (objects === keep && items === keep) return keep;
  return (value, path, dropped) => {
    if (Array.isArray(value)) return items === keep ? value : pruneItems(value, items, path, dropped);
    return isJsonObject(value) ? objects(value, path, dropped) : value;
  };
}

function compileObject(schema: OpenApiSchema): Prune {
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
  const known = new Map(Object.entries(schema.properties ?? {}).map(([key, child]) => [key, compilePrune(child)]));
  const others =
    typeof schema.additionalProperties === "object" ? compilePrune(schema.additionalProperties) : undefined;
  const unknown =
    others ?? (open || schema["x-kubernetes-int-or-string"] || schema.type !== "object" ? keep : undefined);
  return (value, path, dropped) => {
    if (!isJsonObject(value)) return value;
    let changed: Record<string, unknown> | undefined;
    for (const key in value) {
      const child = known.get(key) ?? unknown;
      const childPath = path === "" ? key : `${path}.${key}`;
      if (!child) {
        changed ??= { ...value };
        delete changed[key];
        dropped.push(childPath);
        continue;
      }
      const before = value[key];
      const after = child(before, childPath, dropped);
      if (after === before) continue;
      changed ??= { ...value };
      setField(changed, key, after);
    }
    return changed ?? value;
  };
}

function pruneItems(list: readonly unknown[], items: Prune, path: string, dropped: string[]): readonly unknown[] {
  let changed: unknown[] | undefined;
  for (const [index, before] of list.entries()) {
    const after = items(before, `${path}[${index}]`, dropped);
    if (after === before) continue;
    changed ??= [...list];
    changed[index] = after;
  }
  return changed ?? list;
}
