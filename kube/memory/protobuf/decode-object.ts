import { isJsonObject, type JsonObject } from "../json-values.ts";
import { envelope, type Field, type FieldType, type Message, objectMessages } from "./messages.ts";
import { wireFields } from "./wire-fields.ts";

/** The first bytes of every object that Kubernetes writes in protobuf. */
const prefix = Buffer.from("k8s\0");

/**
 * An object that a client sent as `application/vnd.kubernetes.protobuf`, as the JSON that means the same; undefined for
 * kinds that no command of kubectl sends so.
 *
 * @throws RangeError when the bytes are not what they claim to be.
 */
export function decodeObject(bytes: Buffer): JsonObject | undefined {
  if (!bytes.subarray(0, prefix.length).equals(prefix)) throw new RangeError("it does not begin as an object does");
  const { typeMeta, raw } = decodeMessage(envelope, bytes.subarray(prefix.length));
  const { apiVersion, kind } = isJsonObject(typeMeta) ? typeMeta : {};
  const message = objectMessages[`${String(apiVersion)}/${String(kind)}`];
  if (!message) return undefined;
  return { apiVersion, kind, ...decodeMessage(message, Buffer.from(String(raw ?? ""), "base64")) };
}

function decodeMessage(message: Message, bytes: Buffer): JsonObject {
  const object: Record<string, unknown> = {};
  for (const { number, value } of wireFields(bytes)) {
    const field = message[number];
    if (field) addField(object, field, value);
  }
  return object;
}

function addField(object: Record<string, unknown>, field: Field, wire: bigint | Buffer): void {
  const { name, type, shape } = field;
  const before = object[name];
  if (shape === "list") {
    object[name] = [...(Array.isArray(before) ? before : []), decodeValue(type, wire)];
    return;
  }
  if (shape === "map") {
    const { key = "", value } = decodeMessage(
      { 1: { name: "key", type: "string" }, 2: { name: "value", type } },
      bytesOf(wire),
    );
    object[name] = { ...(isJsonObject(before) ? before : {}), [String(key)]: value ?? "" };
    return;
  }
  const value = decodeValue(type, wire);
  if (field.optional || !isZero(value)) object[name] = value;
}

/** What a typed client writes for a field that nobody has set. */
function isZero(value: unknown): boolean {
  if (isJsonObject(value)) return Object.keys(value).length === 0;
  return value === "" || value === 0 || value === false || value === undefined;
}

function decodeValue(type: FieldType, wire: bigint | Buffer): unknown {
  switch (type) {
    case "string":
      return bytesOf(wire).toString("utf8");
    case "bytes":
      return bytesOf(wire).toString("base64");
    case "integer":
      return Number(BigInt.asIntN(64, numberOf(wire)));
    case "boolean":
      return numberOf(wire) !== 0n;
    case "time":
      return decodeTime(bytesOf(wire));
    case "intOrString":
      return decodeIntOrString(bytesOf(wire));
    default:
      return decodeMessage(type, bytesOf(wire));
  }
}

/** An empty time is what typed clients write for none. */
function decodeTime(bytes: Buffer): string | undefined {
  const { seconds } = decodeMessage({ 1: { name: "seconds", type: "integer" } }, bytes);
  return typeof seconds === "number" ? `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z` : undefined;
}

function decodeIntOrString(bytes: Buffer): number | string {
  const { isText, number, text } = decodeMessage(
    {
      1: { name: "isText", type: "boolean" },
      2: { name: "number", type: "integer" },
      3: { name: "text", type: "string" },
    },
    bytes,
  );
  return isText ? String(text ?? "") : Number(number ?? 0);
}

function bytesOf(wire: bigint | Buffer): Buffer {
  if (typeof wire === "bigint") throw new RangeError("there is a number in the place of bytes");
  return wire;
}

function numberOf(wire: bigint | Buffer): bigint {
  if (typeof wire !== "bigint") throw new RangeError("there are bytes in the place of a number");
  return wire;
}
