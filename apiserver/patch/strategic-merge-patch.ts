import { ownField, setField } from "../../lib/data/own-fields.ts";
import { isJsonObject, type JsonObject } from "../json-values.ts";
import { badRequest, rejectedRequest } from "../status-errors.ts";
import { ordered } from "./element-order.ts";
import { listMergeAt } from "./merge-keys.ts";

const directive = "$patch";
const retain = "$retainKeys";
const deleteFromList = "$deleteFromPrimitiveList/";
const elementOrder = "$setElementOrder/";

/** An object of 3 MiB has less than a million fields and items, and a usual patch merges each of them once. This many take some tenths of a second. */
const copiedItemsMax = 5_000_000;
/** The copy of a field takes as long as that of this many items. */
const itemsPerField = 5;
/** To put a list in order takes as long as the copies of so many items for each of its own. */
const itemsPerOrder = 10;

/** Where a merge is, and what all merges of the patch have cost. */
interface Place {
  readonly path: readonly string[];
  readonly work: Work;
}

/** Each item with the same key as another one copies again what is there: a small patch may ask for hours. */
class Work {
  #copiedItems = 0;

  /** Call it before so many items are copied. */
  take(items: number): void {
    this.#copiedItems += items;
    if (this.#copiedItems > copiedItemsMax) throw rejectedRequest();
  }
}

/**
 * A strategic merge patch of a built-in kind: like a merge patch, but lists with a merge key merge item by item, and
 * `$patch`, `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder` express other changes. The target is not
 * modified.
 *
 * @throws StatusError 400 for an unknown directive, or an item without its merge key; 422 for items that copy more than five million items, or a
 * million fields, of the target.
 */
export function strategicMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(target, patch, { path: [], work: new Work() }) ?? {};
}

/** Undefined: the patch deletes the object. */
function mergeObject(target: JsonObject, patch: JsonObject, place: Place): JsonObject | undefined {
  const verb = patch[directive];
  if (verb === "delete") return undefined;
  if (verb === "replace") return plain(patch);
  if (verb !== undefined && verb !== "merge") throw unknownDirective(verb);

  place.work.take(itemsPerField * Object.keys(target).length);
  const merged: Record<string, unknown> = { ...retained(target, patch[retain]) };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    const next = value === null ? undefined : mergeValue(ownField(merged, key), value, below(place, key), patch);
    if (next === undefined) delete merged[key];
    else setField(merged, key, next);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deleteFromList)) removeFromList(merged, value, below(place, key.slice(deleteFromList.length)));
  }
  for (const [key, order] of Object.entries(patch)) {
    if (key.startsWith(elementOrder)) reorder(merged, order, target, below(place, key.slice(elementOrder.length)));
  }
  return merged;
}

function mergeValue(current: unknown, value: unknown, place: Place, siblings: JsonObject): unknown {
  if (isJsonObject(value)) return mergeObject(isJsonObject(current) ? current : {}, value, place);
  if (!Array.isArray(value)) return value;
  const merge = listMergeAt(place.path);
  if (merge === "replace") return value;
  const before: readonly unknown[] = Array.isArray(current) ? current : [];
  place.work.take(before.length);
  if (merge !== "set") return mergeList(before, value, merge.by, place);
  // Items that the same patch removes are removed afterwards.
  return Object.hasOwn(siblings, `${deleteFromList}${fieldOf(place)}`) || value.length > 0
    ? mergeSet(before, value, place)
    : before;
}

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  by: string,
  place: Place,
): readonly unknown[] {
  const items = patch.filter(isJsonObject);
  if (items.some((item) => item[directive] === "replace" && !(by in item))) {
    return items.filter((item) => item[directive] !== "replace").map(plain);
  }
  const merged: unknown[] = [...current];
  const places = placesBy(merged, by);
  let [isInOrder, lastPlace] = [true, -1];
  for (const item of items) {
    const key = item[by];
    if (key === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${by}`);
    const known = places.get(key);
    // Only the first item with a key changes. To copy the other places for each item of the patch would take quadratic time.
    const first = known?.[0] ?? merged.length;
    isInOrder &&= first >= lastPlace && first < current.length;
    lastPlace = first;
    const found = merged[first];
    const next = mergeObject(isJsonObject(found) ? found : {}, item, place);
    merged[first] = next ?? removed;
    if (!next) {
      places.delete(key);
      for (const each of known ?? []) merged[each] = removed;
    } else if (!known) places.set(key, [first]);
  }
  const left = merged.filter((item) => item !== removed);
  if (isInOrder) return left;
  place.work.take(itemsPerOrder * left.length);
  return ordered(left, items, current, (item) => (isJsonObject(item) ? item[by] : item));
}

function mergeSet(before: readonly unknown[], added: readonly unknown[], { work }: Place): readonly unknown[] {
  const all = [...new Set([...before, ...added])];
  work.take(itemsPerOrder * all.length);
  return ordered(all, added, before, (item) => item);
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

function removeFromList(merged: Record<string, unknown>, unwanted: unknown, place: Place): void {
  const field = fieldOf(place);
  const current = ownField(merged, field);
  if (!Array.isArray(current) || !Array.isArray(unwanted)) return;
  place.work.take(current.length);
  const all = new Set<unknown>(unwanted);
  merged[field] = current.filter((item) => !all.has(item));
}

function reorder(merged: Record<string, unknown>, order: unknown, target: JsonObject, place: Place): void {
  const field = fieldOf(place);
  const current = ownField(merged, field);
  if (!Array.isArray(current) || !Array.isArray(order)) return;
  place.work.take(current.length);
  const merge = listMergeAt(place.path);
  const keyOf = (item: unknown) => (typeof merge === "object" && isJsonObject(item) ? item[merge.by] : item);
  const before = ownField(target, field);
  merged[field] = ordered(current, order, Array.isArray(before) ? before : [], keyOf);
}

const below = ({ path, work }: Place, field: string): Place => ({ path: [...path, field], work });
const fieldOf = ({ path }: Place): string => path.at(-1) ?? "";

/** A patch without its directives: its value when the target is absent. */
function plain(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith("$")));
}

const unknownDirective = (verb: unknown) => badRequest(`Unknown patch type: ${String(verb)}`);
