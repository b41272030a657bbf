import { measureValue } from "../../lib/data/json-parts.ts";
import { isJsonObject, nestingMax, sameJson } from "../json-values.ts";
import { badRequest, rejectedRequest, StatusError } from "../status-errors.ts";
import {
  addAt,
  isPointer,
  itemsBehind,
  type Keys,
  keysOf,
  type Place,
  placeAt,
  removeAt,
  replaceAt,
  valueAt,
} from "./json-pointer.ts";

// kube-apiserver's own limits.
const operationsMax = 10_000;
const copiedBytesMax = 3 * 1024 * 1024;
/** An item that is added to a list or removed from it moves those behind it. This many take some tenths of a second. */
const movedItemsMax = 30_000_000;
/** A value that moves to a deeper place is measured. The measure of one part takes as long as this many items that move. */
const itemsPerMeasuredPart = 100;

const kinds = ["add", "remove", "replace", "move", "copy", "test"] as const;

interface Operation {
  readonly op: (typeof kinds)[number];
  readonly path: string;
  readonly from: string;
  readonly value: unknown;
}

/**
 * RFC 6902. The target is not modified.
 *
 * @throws StatusError 400 for a malformed patch, 413 for too many operations, 422 for an operation that cannot be
 * applied, for copies of more than 3 MiB together, and for changes of lists that move more than 30 million items together.
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest("error decoding patch: a JSON patch is a list of operations");
  if (patch.length > operationsMax) {
    const message = `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${patch.length}`;
    throw new StatusError(413, "RequestEntityTooLarge", message);
  }
  const operations = patch.map(readOperation);
  const patching = new Patching(target);
  for (const operation of operations) if (!patching.apply(operation)) throw rejectedRequest();
  return patching.document;
}

/** A document that operations change one by one, and what they have cost. */
class Patching {
  readonly document: unknown;
  #copiedBytes = 0;
  #movedItems = 0;

  constructor(target: unknown) {
    this.document = structuredClone(target);
  }

  /** Returns false if the operation is impossible or too much. */
  apply({ op, path, from, value }: Operation): boolean {
    const keys = keysOf(path);
    // Functions that follow the document level by level would leave the call stack.
    if (keys.length > nestingMax) return false;
    if (op === "test") return this.#isEqual(keys, value);
    const place = placeAt(this.document, keys);
    if (!place) return false;
    if (op === "remove") return this.#moves(place) && removeAt(place);
    if (op === "copy") return this.#copy(from, place, keys.length);
    if (op === "move") return this.#move(from, path);
    // A value of the patch is not part of the document: later operations must not change the patch.
    if (op === "replace") return replaceAt(place, structuredClone(value));
    return this.#moves(place) && addAt(place, structuredClone(value));
  }

  /** kube-apiserver takes an absent value for null, but not below an absent object. */
  #isEqual(keys: Keys, value: unknown): boolean {
    const place = placeAt(this.document, keys);
    const isReachable = !place || (typeof place.holder === "object" && place.holder !== null);
    return isReachable && sameJson(valueAt(this.document, keys) ?? null, value);
  }

  #copy(from: string, place: Place, depth: number): boolean {
    const value = valueAt(this.document, keysOf(from));
    if (value === undefined) return false;
    // A few copies could double a value until it fills the memory.
    this.#copiedBytes += Buffer.byteLength(JSON.stringify(value));
    if (this.#copiedBytes > copiedBytesMax || !this.#moves(place)) return false;
    return isShallow(value, depth) && addAt(place, structuredClone(value));
  }

  /** The value itself moves: a copy of it would cost as much as all its parts. */
  #move(from: string, path: string): boolean {
    const [fromKeys, keys] = [keysOf(from), keysOf(path)];
    const source = placeAt(this.document, fromKeys);
    const value = valueAt(this.document, fromKeys);
    if (!source || value === undefined || path.startsWith(`${from}/`)) return false;
    if (keys.length > fromKeys.length) {
      // A few moves could nest the value without end.
      const { parts, nesting } = measureValue(value, movedItemsMax);
      this.#movedItems += itemsPerMeasuredPart * parts;
      if (keys.length + nesting > nestingMax) return false;
    }
    if (!this.#moves(source) || !removeAt(source)) return false;
    // Only now: the removal can change which item of a list the path names.
    const target = placeAt(this.document, keys);
    return target !== undefined && this.#moves(target) && addAt(target, value);
  }

  /** Counts the items of a list that move when one is added or removed. Returns false once there were too many. */
  #moves(place: Place): boolean {
    this.#movedItems += itemsBehind(place);
    return this.#movedItems <= movedItemsMax;
  }
}

const isShallow = (value: unknown, depth: number): boolean =>
  depth + measureValue(value, Number.POSITIVE_INFINITY).nesting <= nestingMax;

function readOperation(value: unknown): Operation {
  if (!isJsonObject(value)) throw rejectedRequest();
  const { path, from = "" } = value;
  const op = kinds.find((kind) => kind === value["op"]);
  const isFromNeeded = op === "copy" || op === "move";
  if (!op || !isPointer(path) || !isPointer(from) || (isFromNeeded && value["from"] === undefined)) {
    throw rejectedRequest();
  }
  return { op, path, from, value: value["value"] ?? null };
}
