import { applyPatch, type Operation } from "rfc6902";
import { isJsonObject } from "../json-values.ts";
import { badRequest, rejectedRequest, StatusError } from "../status-errors.ts";

// kube-apiserver's own limit.
const operationsMax = 10_000;
const operations: ReadonlySet<unknown> = new Set(["add", "remove", "replace", "move", "copy", "test"]);

/**
 * RFC 6902. The target is not modified.
 *
 * @throws StatusError 400 for a malformed patch, 413 for too many operations, 422 for an operation that cannot be
 * applied.
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest("error decoding patch: a JSON patch is a list of operations");
  if (patch.length > operationsMax) {
    const message = `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${patch.length}`;
    throw new StatusError(413, "RequestEntityTooLarge", message);
  }
  if (!patch.every(isOperation)) throw rejectedRequest();
  const patched: unknown = structuredClone(target);
  const failures = applyPatch(patched, patch).filter((failure) => failure !== null);
  if (failures.length > 0) throw rejectedRequest();
  return patched;
}

function isOperation(value: unknown): value is Operation {
  return isJsonObject(value) && operations.has(value["op"]) && typeof value["path"] === "string";
}
