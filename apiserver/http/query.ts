import { isJsonObject, type JsonObject } from "../json-values.ts";
import type { DeletionRequest, PropagationPolicy } from "../objects/object-deletion.ts";
import type { WriteMode } from "../objects/object-writes.ts";
import type { ServedKind } from "../served-kind.ts";
import { badRequest, type StatusError } from "../status-errors.ts";
import { type Predicate, parseFieldSelector, parseLabelSelector } from "./selectors.ts";

/** The options of a write in its query parameters. */
export function readWriteMode(query: URLSearchParams): WriteMode {
  const fieldValidation = query.get("fieldValidation") || "Warn";
  if (fieldValidation !== "Strict" && fieldValidation !== "Warn" && fieldValidation !== "Ignore") {
    throw badRequest(
      `fieldValidation: Unsupported value: "${fieldValidation}": supported values: "Ignore", "Strict", "Warn"`,
    );
  }
  return { dryRun: readDryRun(query.getAll("dryRun")), fieldValidation };
}

/** The selector of a list, a watch or a deletion. */
export function readSelection(kind: ServedKind, query: URLSearchParams): Predicate {
  const byLabel = parseLabelSelector(query.get("labelSelector") ?? "");
  const byField = parseFieldSelector(query.get("fieldSelector") ?? "", kind.selectableFields);
  return (object) => byLabel(object) && byField(object);
}

/** A version in a query; undefined if absent or empty. */
export function readVersion(query: URLSearchParams): number | undefined {
  const text = query.get("resourceVersion") ?? "";
  if (text === "") return undefined;
  if (!/^\d+$/.test(text)) throw badRequest(`Invalid value: "${text}": the resourceVersion is not a number`);
  return Number(text);
}

/** Like Go's strconv.ParseBool: Python clients send `True`. */
export function readBoolean(query: URLSearchParams, name: string): boolean {
  return /^(1|t|true)$/i.test(query.get(name) ?? "");
}

/** A number of seconds or lines in a query. */
export function readCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

/** The options of a deletion: `DeleteOptions` in the body, or else the same in the query. */
export function readDeletion(body: unknown, query: URLSearchParams): DeletionRequest {
  if (body !== undefined && !isJsonObject(body)) throw badRequest("the DeleteOptions are not an object");
  const options: JsonObject = body ?? {};
  const preconditions = options["preconditions"] ?? {};
  if (!isJsonObject(preconditions)) throw wrongOption("preconditions", preconditions, "v1.Preconditions");
  const dryRun = Array.isArray(options["dryRun"]) ? options["dryRun"] : query.getAll("dryRun");
  return {
    uid: readText("preconditions.uid", preconditions["uid"]),
    resourceVersion: readText("preconditions.resourceVersion", preconditions["resourceVersion"]),
    propagationPolicy: readPolicy(options, query),
    gracePeriodSeconds: readGrace(options["gracePeriodSeconds"] ?? readCount(query, "gracePeriodSeconds")),
    dryRun: readDryRun(dryRun),
  };
}

function readPolicy(options: JsonObject, query: URLSearchParams): PropagationPolicy | undefined {
  const policy = options["propagationPolicy"] ?? query.get("propagationPolicy") ?? undefined;
  // The deprecated predecessor of propagationPolicy, which old clients still send.
  const orphan = options["orphanDependents"] ?? query.get("orphanDependents");
  if (policy === undefined && orphan !== undefined && orphan !== null)
    return String(orphan) === "true" ? "Orphan" : "Background";
  if (policy === undefined || policy === "Foreground" || policy === "Background" || policy === "Orphan") return policy;
  throw badRequest(
    `propagationPolicy: Unsupported value: "${String(policy)}": supported values: "Foreground", "Background", "Orphan"`,
  );
}

function readDryRun(values: readonly unknown[]): boolean {
  const asked = values.filter((value) => value !== "");
  const wrong = asked.find((value) => value !== "All");
  if (wrong !== undefined) throw badRequest(`dryRun: Unsupported value: "${String(wrong)}": supported values: "All"`);
  return asked.length > 0;
}

/** A precondition of another type must not count as none. */
function readText(option: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw wrongOption(option, value, "string");
}

function readGrace(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 63) return value;
  throw wrongOption("gracePeriodSeconds", value, "int64");
}

/** In the words of Go's decoder of JSON. */
function wrongOption(option: string, value: unknown, type: string): StatusError {
  const given = typeof value === "number" ? `number ${value}` : Array.isArray(value) ? "array" : typeof value;
  return badRequest(`json: cannot unmarshal ${given} into Go struct field DeleteOptions.${option} of type ${type}`);
}
