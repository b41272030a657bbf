import { applyPatch, type Operation, Pointer } from "rfc6902";
import { measureValue } from "../../lib/data/json-parts.ts";
import { isJsonObject, nestingMax, sameJson } from "../json-values.ts";
import { badRequest, rejectedRequest, StatusError } from "../status-errors.ts";

// kube-apiserver's own limits.
const operationsMax = 10_000;
const copiedBytesMax = 3 * 1024 * 1024;
/** An item that is added to a list or removed from it moves those behind it. This many take some tenths of a second. */
const movedItemsMax = 30_000_000;
const operations: ReadonlySet<unknown> = new Set(["add", "remove", "replace", "move", "copy", "test"]);

type Change = Exclude<Operation, { op: "test" | "copy" | "move" }>;

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
  if (!patch.every(isOperation)) throw rejectedRequest();
  const patched: unknown = structuredClone(target);
  let [copiedBytes, movedItems] = [0, 0];
  for (const operation of patch) {
    // A few copies could double a value until it fills the memory.
    if (operation.op === "copy") copiedBytes += bytesOf(valueAt(patched, operation.from));
    movedItems +=
      movedBy(patched, operation) +
      (operation.op === "move" ? measureValue(valueAt(patched, operation.from), movedItemsMax).parts : 0);
    const isTooMuch = copiedBytes > copiedBytesMax || movedItems > movedItemsMax || isTooDeep(patched, operation);
    if (isTooMuch || !isApplied(patched, operation)) throw rejectedRequest();
  }
  return patched;
}

/** Whether a value would end up so deep that functions which follow it level by level leave the call stack. A few moves could nest it without end. */
function isTooDeep(document: unknown, operation: Operation): boolean {
  const { op, path } = operation;
  const value = op === "copy" || op === "move" ? valueAt(document, operation.from) : undefined;
  return tokensOf(path).length + measureValue(value, Number.POSITIVE_INFINITY).nesting > nestingMax;
}

/** The items of lists that move when an item before them is added or removed, at most. */
function movedBy(document: unknown, operation: Operation): number {
  const { op, path } = operation;
  if (op === "test" || op === "replace") return 0;
  const paths = (op === "move" ? [operation.from, path] : [path]).filter((each) => !each.endsWith("/-"));
  const holders = paths.map((each) => own(document, tokensOf(each).slice(0, -1)));
  return holders.reduce<number>((sum, holder) => sum + (Array.isArray(holder) ? holder.length : 0), 0);
}

/** Applies one operation in place. Returns whether that was possible. */
function isApplied(document: unknown, operation: Operation): boolean {
  const { op, path } = operation;
  if (op === "test") return isEqual(document, operation);
  if (op !== "copy" && op !== "move") return isChanged(document, operation);
  const value = valueAt(document, operation.from);
  if (value === undefined) return false;
  if (op === "move" && path.startsWith(`${operation.from}/`)) return false;
  if (op === "move" && !isChanged(document, { op: "remove", path: operation.from })) return false;
  return isChanged(document, { op: "add", path, value });
}

/**
 * kube-apiserver takes an absent value for null, but not below an absent object. The library searches for the shortest
 * difference: for two lists of 1,000 numbers that takes minutes and gigabytes.
 */
function isEqual(document: unknown, { path, value }: { readonly path: string; readonly value?: unknown }): boolean {
  const isReachable = path === "" || isHolder(own(document, tokensOf(path).slice(0, -1)));
  return isReachable && sameJson(valueAt(document, path) ?? null, value ?? null);
}

/** The library gets only the last key: on its way to an object it would follow inherited properties. */
function isChanged(document: unknown, operation: Change): boolean {
  const tokens = tokensOf(operation.path);
  const key = tokens.at(-1);
  const holder = own(document, tokens.slice(0, -1));
  if (key === undefined || !isHolder(holder)) return false;
  const isPresent = own(holder, [key]) !== undefined;
  if (operation.op === "remove" && !isPresent) return false;
  // Like kube-apiserver, which replaces an absent field, too.
  const addsIt = operation.op === "replace" && !isPresent && !Array.isArray(holder);
  const change: Change = addsIt ? { ...operation, op: "add" } : operation;
  return applyPatch(holder, [{ ...change, path: new Pointer(["", key]).toString() }])[0] === null;
}

const valueAt = (document: unknown, path: string): unknown => own(document, tokensOf(path));

const tokensOf = (path: string): readonly string[] => Pointer.fromJSON(path).tokens.slice(1);

const isHolder = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Follows the keys through own properties only; undefined if one is absent. */
function own(document: unknown, keys: readonly string[]): unknown {
  let value = document;
  for (const key of keys) {
    if (!isHolder(value) || (Array.isArray(value) && key === "length")) return undefined;
    value = Object.getOwnPropertyDescriptor(value, key)?.value;
  }
  return value;
}

const bytesOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

function isOperation(value: unknown): value is Operation {
  if (!isJsonObject(value) || !operations.has(value["op"])) return false;
  const isFromNeeded = value["op"] === "copy" || value["op"] === "move";
  return isPointer(value["path"]) && (!isFromNeeded || isPointer(value["from"]));
}

const isPointer = (value: unknown): boolean => typeof value === "string" && (value === "" || value.startsWith("/"));
