import { ownField, setField } from "../../lib/data/own-fields.ts";
import { isJsonObject, type JsonObject } from "../json-values.ts";
import { badRequest } from "../status-errors.ts";
import { listMergeAt } from "./merge-keys.ts";

const directive = "$patch";
const retain = "$retainKeys";
const deleteFromList = "$deleteFromPrimitiveList/";
const elementOrder = "$setElementOrder/";

/**
 * A strategic merge patch of a built-in kind: like a merge patch, but lists with a merge key merge item by item, and
 * `$patch`, `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder` express other changes. The target is not
 * modified.
 *
 * @throws StatusError 400 for an unknown directive, or an item without its merge key.
 */
export function strategicMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(target, patch, []) ?? {};
}

/** Undefined: the patch deletes the object. */
function mergeObject(target: JsonObject, patch: JsonObject, path: readonly string[]): JsonObject | undefined {
  const verb = patch[directive];
  if (verb === "delete") return undefined;
  if (verb === "replace") return plain(patch);
  if (verb !== undefined && verb !== "merge") throw unknownDirective(verb);

  const merged: Record<string, unknown> = { ...retained(target, patch[retain]) };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    const next = value === null ? undefined : mergeValue(ownField(merged, key), value, [...path, key], patch);
    if (next === undefined) delete merged[key];
    else setField(merged, key, next);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deleteFromList)) removeFromList(merged, key.slice(deleteFromList.length), value);
  }
  for (const [key, order] of Object.entries(patch)) {
    if (key.startsWith(elementOrder)) reorder(merged, key.slice(elementOrder.length), order, path);
  }
  return merged;
}

function mergeValue(current: unknown, value: unknown, path: readonly string[], siblings: JsonObject): unknown {
  if (isJsonObject(value)) return mergeObject(isJsonObject(current) ? current : {}, value, path);
  if (!Array.isArray(value)) return value;
  const merge = listMergeAt(path);
  if (merge === "replace") return value;
  const before: readonly unknown[] = Array.isArray(current) ? current : [];
  if (merge !== "set") return mergeList(before, value, merge.by, path);
  // Items that the same patch removes are removed afterwards.
  return Object.hasOwn(siblings, `${deleteFromList}${path.at(-1)}`) || value.length > 0
    ? [...new Set([...before, ...value])]
    : before;
}

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  by: string,
  path: readonly string[],
): readonly unknown[] {
  const items = patch.filter(isJsonObject);
  if (items.some((item) => item[directive] === "replace" && !(by in item))) {
    return items.filter((item) => item[directive] !== "replace").map(plain);
  }
  const merged: unknown[] = [...current];
  const places = placesBy(merged, by);
  for (const item of items) {
    const key = item[by];
    if (key === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${by}`);
    const [first = merged.length, ...others] = places.get(key) ?? [];
    const found = merged[first];
    const next = mergeObject(isJsonObject(found) ? found : {}, item, path);
    merged[first] = next ?? removed;
    if (next) places.set(key, [first, ...others]);
    else {
      places.delete(key);
      for (const place of others) merged[place] = removed;
    }
  }
  return merged.filter((item) => item !== removed);
}

const removed = Symbol("removed");

/** Where the items with each key are. A search for each item of a patch would take minutes for 40,000 of them. */
function placesBy(items: readonly unknown[], by: string): Map<unknown, readonly number[]> {
  const places = new Map<unknown, number[]>();
  for (const [place, item] of items.entries()) {
    if (!isJsonObject(item)) continue;
    const known = places.get(item[by]);
    if (known) known.push(place);
    else places.set(item[by], [place]);
  }
  return places;
}

function retained(target: JsonObject, keys: unknown): JsonObject {
  if (keys === undefined) return target;
  if (!Array.isArray(keys)) throw badRequest("$retainKeys must be a list");
  const kept = new Set<unknown>(keys);
  return Object.fromEntries(Object.entries(target).filter(([key]) => kept.has(key)));
}

function removeFromList(merged: Record<string, unknown>, field: string, unwanted: unknown): void {
  const current = ownField(merged, field);
  if (!Array.isArray(current) || !Array.isArray(unwanted)) return;
  const all = new Set<unknown>(unwanted);
  merged[field] = current.filter((item) => !all.has(item));
}

/** Sorts the named items into the given order; the others keep their positions. */
function reorder(merged: Record<string, unknown>, field: string, order: unknown, path: readonly string[]): void {
  const current = ownField(merged, field);
  if (!Array.isArray(current) || !Array.isArray(order)) return;
  const merge = listMergeAt([...path, field]);
  const keyOf = (item: unknown) => (typeof merge === "object" && isJsonObject(item) ? item[merge.by] : item);
  const places = new Map(order.map((item, place) => [keyOf(item), place]));
  const named = current
    .filter((item) => places.has(keyOf(item)))
    .sort((left, right) => (places.get(keyOf(left)) ?? 0) - (places.get(keyOf(right)) ?? 0))
    .values();
  merged[field] = current.map((item) => (places.has(keyOf(item)) ? named.next().value : item));
}

/** A patch without its directives: its value when the target is absent. */
function plain(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith("$")));
}

const unknownDirective = (verb: unknown) => badRequest(`Unknown patch type: ${String(verb)}`);
