import { decodeObject } from "../protobuf/decode-object.ts";
import { badRequest, notAcceptable, StatusError, unsupportedMediaType } from "../status-errors.ts";
import { refuseLargeText, refuseLargeValue } from "./body-shape.ts";
import { parseYamlText } from "./yaml-body.ts";

const json = "application/json";
const yaml = "application/yaml";
/** Newer kubectl and Go clients send the built-in kinds in this format; they read JSON. */
const protobuf = "application/vnd.kubernetes.protobuf";
const served = [json, yaml];

/** One media range of an Accept header, in order of preference. */
interface Accepted {
  readonly type: string;
  /** `Table` and so on: a response in another form than the object. */
  readonly as: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface Acceptance {
  /** Whether the client prefers a table to the objects. */
  readonly table: boolean;
  /** Whether the client accepts the discovery of all groups in one document, and in which version. */
  readonly aggregatedDiscovery: "v2" | "v2beta1" | undefined;
}

/**
 * The first accepted form that this server supports. Objects are returned as JSON only; clients that prefer protobuf
 * list JSON after it.
 *
 * @throws StatusError 406 when JSON is not accepted.
 */
export function readAccept(header: string | undefined): Acceptance {
  const ranges = (header?.trim() || "*/*").split(",").map(parseRange);
  const range = ranges.find(({ type, as, parameters }) => isJson(type) && isKnownForm(as, parameters));
  if (!range) throw notAcceptable(served);
  const { as, parameters } = range;
  const version = parameters["v"];
  return {
    table: as === "Table",
    aggregatedDiscovery:
      as === "APIGroupDiscoveryList" && (version === "v2" || version === "v2beta1") ? version : undefined,
  };
}

const isJson = (type: string): boolean => type === json || type === "application/*" || type === "*/*";

function isKnownForm(as: string | undefined, { g, v }: Accepted["parameters"]): boolean {
  if (as === undefined) return true;
  if (as === "Table") return g === "meta.k8s.io" && v === "v1";
  return as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io";
}

function parseRange(range: string): Accepted {
  const [type = "", ...rest] = range.split(";").map((part) => part.trim());
  const parameters = Object.fromEntries(rest.map((part) => part.split("=", 2) as [string, string]));
  return { type: type.toLowerCase(), as: parameters["as"], parameters };
}

/** The media type of a Content-Type header without its parameters; absent means JSON. */
export function mediaTypeOf(header: string | undefined): string {
  const [type = ""] = (header ?? "").split(";", 1);
  return type.trim().toLowerCase() || json;
}

/**
 * The value of a body with an object in JSON, YAML or protobuf; undefined when it is empty.
 *
 * @throws StatusError 415 for other media types, 400 for a malformed or deeply nested body, 413 for too many values.
 */
export function parseBody(mediaType: string, bytes: Buffer): unknown {
  if (mediaType === protobuf) return parseProtobuf(bytes);
  if (mediaType !== json && mediaType !== yaml) throw unsupportedMediaType(served);
  if (bytes.length === 0) return undefined;
  return mediaType === yaml ? refuseLargeValue(parseText(parseYamlText, bytes)) : parseJson(bytes);
}

function parseProtobuf(bytes: Buffer): unknown {
  try {
    const object = decodeObject(bytes);
    if (object) return refuseLargeValue(object);
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(`couldn't get version/kind; protobuf error: ${error.message}`);
    throw error;
  }
  throw unsupportedMediaType(served);
}

/** The value of a patch, which is JSON for every patch type. */
export function parsePatchBody(bytes: Buffer): unknown {
  return parseJson(bytes);
}

function parseJson(bytes: Buffer): unknown {
  refuseLargeText(bytes);
  return parseText(JSON.parse, bytes);
}

function parseText(parse: (text: string) => unknown, bytes: Buffer): unknown {
  try {
    return parse(bytes.toString("utf8"));
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`couldn't get version/kind; json parse error: ${why}`);
  }
}
