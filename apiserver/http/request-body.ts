import type { IncomingMessage } from "node:http";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { apiVersionOf, type ResourceType } from "../../api/kinds/resource-type.ts";
import { isJsonObject, nullAsText } from "../json-values.ts";
import type { ServedKind } from "../served-kind.ts";
import { badRequest, bodyTooLarge, invalid, type StatusError } from "../status-errors.ts";
import { mediaTypeOf, parseBody } from "./media-types.ts";
import type { UnfinishedBodies } from "./unfinished-bodies.ts";

/**
 * The bytes of a body.
 *
 * @throws StatusError 413 as soon as it exceeds the limit of one body; 429 if all unfinished bodies take too much memory.
 */
export async function readBytes(request: IncomingMessage, bodies: UnfinishedBodies): Promise<Buffer> {
  const { maxBytes } = bodies;
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  using body = bodies.begin();
  // The rest of a rejected body is read and dropped: destroying the socket would lose the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) body.add(chunk);
  return body.join();
}

/** The value in a body; undefined when it is empty. */
export async function readValue(request: IncomingMessage, bodies: UnfinishedBodies): Promise<unknown> {
  const mediaType = mediaTypeOf(request.headers["content-type"]);
  return parseBody(mediaType, await readBytes(request, bodies));
}

/**
 * An object of a kind in a body.
 *
 * @throws StatusError 400 when it is of another kind or version, or does not match its path.
 */
export function objectOf(value: unknown, kind: ServedKind, namespace: string | undefined): KubeObject {
  const object = typedObject(value, kind.type, !kind.strategicMerge);
  const { metadata } = object;
  if (metadata.namespace && metadata.namespace !== (namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return object;
}

/** The type in an object's own fields. */
type ObjectType = Pick<ResourceType, "group" | "version" | "kind">;

/** `mustSay`: whether apiVersion and kind are required; for built-in kinds the path implies them. */
export function typedObject(value: unknown, type: ObjectType, mustSay: boolean): KubeObject {
  if (!isJsonObject(value)) throw badRequest("the body of the request is not an object");
  const { apiVersion, kind, metadata = {} } = value;
  if (mustSay && !kind) {
    throw badRequest(`the object provided is unrecognized (must be of type ${type.kind}): Object 'Kind' is missing`);
  }
  const expected = apiVersionOf(type);
  if (mustSay ? apiVersion !== expected : apiVersion && apiVersion !== expected) {
    const found = typeof apiVersion === "string" ? apiVersion : "";
    throw badRequest(`the API version in the data (${found}) does not match the expected API version (${expected})`);
  }
  const checked = checkedMetadata(metadata, type);
  if (kind && kind !== type.kind) throw otherKind(type, String(kind), checked.name ?? "", mustSay);
  return { ...value, metadata: checked };
}

function otherKind(type: ObjectType, found: string, name: string, mustSay: boolean): StatusError {
  if (!mustSay) return badRequest(`${found} in version "${type.version}" cannot be handled as a ${type.kind}`);
  const message = `Invalid value: ${JSON.stringify(found)}: must be ${type.kind}`;
  return invalid({ ...type, kind: found }, name, [{ reason: "FieldValueInvalid", message, field: "kind" }]);
}

/** Checks the types of the metadata fields that this server reads. */
function checkedMetadata(metadata: unknown, { kind, version }: ObjectType): KubeObject["metadata"] {
  const refuse = (field: string, expected: string) =>
    badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: json: cannot unmarshal into ${expected} at field metadata${field}`,
    );
  if (!isJsonObject(metadata)) throw refuse("", "an object");
  for (const field of ["name", "generateName", "namespace", "uid", "resourceVersion"]) {
    if (metadata[field] !== undefined && metadata[field] !== null && typeof metadata[field] !== "string") {
      throw refuse(`.${field}`, "a string");
    }
  }
  for (const field of mapsOfTexts) {
    if (!isMapOfStrings(metadata[field] ?? {})) throw refuse(`.${field}`, "a map of strings");
  }
  for (const field of ["finalizers", "ownerReferences"]) {
    if (!Array.isArray(metadata[field] ?? [])) throw refuse(`.${field}`, "a list");
  }
  const given = Object.entries(metadata).filter(([, value]) => value !== null);
  return Object.fromEntries(
    given.map(([field, value]) => [
      field,
      mapsOfTexts.includes(field) && isJsonObject(value) ? nullAsText(value) : value,
    ]),
  );
}

const mapsOfTexts = ["labels", "annotations"];
const isMapOfStrings = (value: unknown): boolean =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === "string" || one === null);
