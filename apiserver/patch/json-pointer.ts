import { setField } from "../../lib/data/own-fields.ts";
import { isJsonObject } from "../json-values.ts";

/** The keys of a JSON pointer (RFC 6901), from the document down; none for the whole document. */
export type Keys = readonly string[];

export const isPointer = (value: unknown): value is string =>
  typeof value === "string" && (value === "" || value.startsWith("/"));

export const keysOf = (pointer: string): Keys =>
  pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));

/** An object or list, and the key of a member that it has or could have. */
export interface Place {
  readonly holder: unknown;
  readonly key: string;
}

/** The place that the keys name; undefined for the whole document. Its holder is undefined if the document has none there. */
export function placeAt(document: unknown, keys: Keys): Place | undefined {
  const key = keys.at(-1);
  return key === undefined ? undefined : { holder: valueAt(document, keys.slice(0, -1)), key };
}

/** The value that the keys name; undefined if there is none. */
export const valueAt = (document: unknown, keys: Keys): unknown =>
  keys.reduce<unknown>((holder, key) => memberAt({ holder, key }), document);

function memberAt({ holder, key }: Place): unknown {
  if (Array.isArray(holder)) {
    const index = indexIn(key, holder.length - 1);
    return index === undefined ? undefined : holder[index];
  }
  // Inherited properties are no members.
  return isJsonObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Adds a member: to a list before the item of that index, or at its end. Returns whether that was possible. */
export function addAt({ holder, key }: Place, value: unknown): boolean {
  if (!Array.isArray(holder)) return setIn(holder, key, value);
  const index = key === "-" ? holder.length : indexIn(key, holder.length);
  if (index === undefined) return false;
  if (index === holder.length) holder.push(value);
  else holder.splice(index, 0, value);
  return true;
}

/** Replaces a member. Like kube-apiserver, it adds an absent one of an object. */
export function replaceAt({ holder, key }: Place, value: unknown): boolean {
  if (!Array.isArray(holder)) return setIn(holder, key, value);
  const index = indexIn(key, holder.length - 1);
  if (index === undefined) return false;
  holder[index] = value;
  return true;
}

export function removeAt({ holder, key }: Place): boolean {
  if (memberAt({ holder, key }) === undefined) return false;
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (isMutable(holder)) delete holder[key];
  return true;
}

/** The items of a list behind a place, which move when an item is added or removed there. */
export const itemsBehind = ({ holder, key }: Place): number =>
  Array.isArray(holder) ? Math.max(holder.length - (indexIn(key, holder.length) ?? holder.length), 0) : 0;

/** A list has no other keys than these: not `length`, which would set its size, and no other property of JavaScript. */
function indexIn(key: string, max: number): number | undefined {
  if (!/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
  const index = Number(key);
  return index <= max ? index : undefined;
}

function setIn(holder: unknown, key: string, value: unknown): boolean {
  if (!isMutable(holder)) return false;
  setField(holder, key, value);
  return true;
}

/** Objects of a document under construction. */
const isMutable = (value: unknown): value is Record<string, unknown> => isJsonObject(value);
