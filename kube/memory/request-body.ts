import type { IncomingMessage } from "node:http";
import type { KubeObject } from "../../api/meta.ts";
import { apiVersionOf, type ResourceType } from "../../api/resource-type.ts";
import { isJsonObject, type JsonObject } from "./json-values.ts";
import { mediaTypeOf, parseBody } from "./media-types.ts";
import type { ServedKind } from "./served-kind.ts";
import { badRequest, bodyTooLarge } from "./status-errors.ts";

/**
 * The bytes of a body.
 *
 * @throws StatusError 413 as soon as it is known to be longer than `maxBytes`.
 */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The rest of a body that is refused is read and dropped: a socket that is torn down takes the answer with it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The value in a body; undefined when it is empty. */
export async function readValue(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const mediaType = mediaTypeOf(request.headers["content-type"]);
  return parseBody(mediaType, await readBytes(request, maxBytes));
}

/**
 * An object of a kind in a body.
 *
 * @throws StatusError 400 when it is of another kind or version, or does not fit the path that it was sent to.
 */
export function objectOf(value: unknown, kind: ServedKind, namespace: string | undefined): KubeObject {
  const object = typedObject(value, kind.type, !kind.strategicMerge);
  const { metadata } = object;
  if (metadata.namespace && metadata.namespace !== (namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return object;
}

/** `mustSay`: whether it has to say what it is; built-in kinds are known by the path. */
export function typedObject(
  value: unknown,
  type: Pick<ResourceType, "group" | "version" | "kind">,
  mustSay: boolean,
): KubeObject {
  if (!isJsonObject(value)) throw badRequest("the body of the request is not an object");
  const { apiVersion, kind, metadata = {} } = value;
  if (mustSay && !kind) throw badRequest(`Object 'Kind' is missing in '${abridged(value)}'`);
  if (mustSay && !apiVersion) throw badRequest(`Object 'apiVersion' is missing in '${abridged(value)}'`);
  const expected = apiVersionOf({ ...type, plural: "", namespaced: true });
  if (apiVersion && apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (kind && kind !== type.kind) {
    throw badRequest(`${String(kind)} in version "${type.version}" cannot be handled as a ${type.kind}`);
  }
  return { ...value, metadata: checkedMetadata(metadata, type) };
}

/** The parts of metadata that this server reads have to be what they look like. */
function checkedMetadata(
  metadata: unknown,
  { kind, version }: Pick<ResourceType, "version" | "kind">,
): KubeObject["metadata"] {
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
  for (const field of ["labels", "annotations"]) {
    if (!isMapOfStrings(metadata[field] ?? {})) throw refuse(`.${field}`, "a map of strings");
  }
  for (const field of ["finalizers", "ownerReferences"]) {
    if (!Array.isArray(metadata[field] ?? [])) throw refuse(`.${field}`, "a list");
  }
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
}

const isMapOfStrings = (value: unknown): boolean =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === "string");

// A refusal quotes enough to be recognized, never a whole secret.
const abridged = (value: JsonObject): string => JSON.stringify(Object.keys(value));
