import { isJsonObject, type JsonObject } from "../json-values.ts";
import type { DeletionRequest, PropagationPolicy } from "../objects/object-deletion.ts";
import type { WriteMode } from "../objects/object-writes.ts";
import type { ServedKind } from "../served-kind.ts";
import { badRequest, invalid, type StatusError } from "../status-errors.ts";
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

const notOlderThan = "NotOlderThan";

/**
 * Checks the options of a list or a watch as kube-apiserver's `ValidateListOptions`.
 *
 * @throws StatusError 400 for a limit that is no number, 422 for options that do not go together.
 */
export function checkListOptions(query: URLSearchParams): void {
  const limit = query.get("limit") ?? "";
  if (!/^([-+]?\d+)?$/.test(limit)) throw badRequest(`strconv.ParseInt: parsing "${limit}": invalid syntax`);
  const match = query.get("resourceVersionMatch") ?? "";
  const asksForEvents = query.has("sendInitialEvents");
  const fault = readBoolean(query, "watch") ? watchFault(match, asksForEvents) : listFault(match, asksForEvents, query);
  if (!fault) return;
  const [field, message] = fault;
  throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [{ reason: "FieldValueForbidden", message, field }]);
}

/** The most objects of a page; 0: all objects. */
export const readLimit = (query: URLSearchParams): number => Math.max(0, Number(query.get("limit") || 0));

/** Whether a list leaves out objects. Then the number of those that are left is not told. */
export const isSelecting = (query: URLSearchParams): boolean =>
  Boolean(query.get("labelSelector") || query.get("fieldSelector"));

/** Whether a list must be of exactly this version. */
export const isExact = (query: URLSearchParams): boolean => query.get("resourceVersionMatch") === "Exact";

type Fault = readonly [field: string, message: string];
const refused = (why: string): Fault => ["resourceVersionMatch", why];

function watchFault(match: string, asksForEvents: boolean): Fault | undefined {
  if (asksForEvents && match !== notOlderThan)
    return refused(`Forbidden: sendInitialEvents requires setting resourceVersionMatch to ${notOlderThan}`);
  if (match !== "" && !asksForEvents)
    return refused("Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  return undefined;
}

function listFault(match: string, asksForEvents: boolean, query: URLSearchParams): Fault | undefined {
  const version = query.get("resourceVersion") ?? "";
  if (match !== "" && version === "")
    return refused("Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "" && match !== "Exact" && match !== notOlderThan)
    return refused(`Unsupported value: "${match}": supported values: "Exact", "${notOlderThan}", ""`);
  if (match !== "" && query.get("continue"))
    return refused("Forbidden: resourceVersionMatch is forbidden when continue is provided");
  if (match === "Exact" && version === "0")
    return refused('Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  return asksForEvents ? ["sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list"] : undefined;
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

/** It may be negative, as a grace period may, which means the shortest one. */
function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[-+]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

/** The options of a deletion: `DeleteOptions` in the body, or else the same in the query. */
export function readDeletion(body: unknown, query: URLSearchParams): DeletionRequest {
  if (body !== undefined && !isJsonObject(body)) throw badRequest("the DeleteOptions are not an object");
  const options: JsonObject = body ?? {};
  const { apiVersion = "", kind = "DeleteOptions" } = options;
  if (kind !== "DeleteOptions")
    throw badRequest(`no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`);
  const preconditions = options["preconditions"] ?? {};
  if (!isJsonObject(preconditions)) throw wrongOption("preconditions", preconditions, "v1.Preconditions");
  const dryRun = Array.isArray(options["dryRun"]) ? options["dryRun"] : query.getAll("dryRun");
  return {
    uid: readText("preconditions.uid", preconditions["uid"]),
    resourceVersion: readText("preconditions.resourceVersion", preconditions["resourceVersion"]),
    propagationPolicy: readPolicy(options, query),
    gracePeriodSeconds: readGrace(options["gracePeriodSeconds"] ?? readInteger(query, "gracePeriodSeconds")),
    dryRun: readDryRun(dryRun),
  };
}

function readPolicy(options: JsonObject, query: URLSearchParams): PropagationPolicy | undefined {
  const policy = options["propagationPolicy"] ?? query.get("propagationPolicy") ?? undefined;
  // The deprecated predecessor of propagationPolicy, which old clients still send.
  const orphan = options["orphanDependents"] ?? query.get("orphanDependents");
  if (policy !== undefined && orphan !== undefined && orphan !== null) throw twoPolicies(policy);
  if (policy === undefined && orphan !== undefined && orphan !== null)
    return String(orphan) === "true" ? "Orphan" : "Background";
  if (policy === undefined || policy === "Foreground" || policy === "Background" || policy === "Orphan") return policy;
  throw badRequest(
    `propagationPolicy: Unsupported value: "${String(policy)}": supported values: "Foreground", "Background", "Orphan"`,
  );
}

function twoPolicies(policy: unknown): StatusError {
  const message = `Invalid value: ${JSON.stringify(policy)}: orphanDependents and deletionPropagation cannot be both set`;
  const cause = { reason: "FieldValueInvalid", message, field: "propagationPolicy" };
  return invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [cause]);
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
