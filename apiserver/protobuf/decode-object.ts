import { ownField, setField } from "../../lib/data/own-fields.ts";
import { isJsonObject, type JsonObject } from "../json-values.ts";
import { deleteOptions, envelope, type Field, type FieldType, type Message, objectMessages } from "./messages.ts";
import { wireFields } from "./wire-fields.ts";

/** The prefix of every Kubernetes object in protobuf. */
const prefix = Buffer.from("k8s\0");

/**
 * An object in `application/vnd.kubernetes.protobuf` as JSON; undefined for kinds that no kubectl command sends in this
 * format.
 *
 * @throws RangeError for malformed bytes.
 */
export function decodeObject(bytes: Buffer): JsonObject | undefined {
  if (!bytes.subarray(0, prefix.length).equals(prefix)) throw new RangeError("the prefix of an object is missing");
  const { typeMeta, raw } = decodeMessage(envelope, bytes.subarray(prefix.length));
  const { apiVersion, kind } = isJsonObject(typeMeta) ? typeMeta : {};
  const message =
    kind === "DeleteOptions" ? deleteOptions : ownField(objectMessages, `${String(apiVersion)}/${String(kind)}`);
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
  if (shape === "list") {
    const list = object[name] ?? [];
    if (!Array.isArray(list)) throw new RangeError("a field that is a list and something else");
    list.push(decodeValue(type, wire));
    object[name] = list;
    return;
  }
  if (shape === "map") {
    const { key = "", value } = decodeMessage(
      { 1: { name: "key", type: "string" }, 2: { name: "value", type } },
      bytesOf(wire),
    );
    const map: Record<string, unknown> = isMap(object[name]) ? object[name] : {};
    setField(map, String(key), value ?? "");
    object[name] = map;
    return;
  }
  const value = decodeValue(type, wire);
  if (field.optional || !isZero(value)) object[name] = value;
}

const isMap = (value: unknown): value is Record<string, unknown> => isJsonObject(value);

/** The value that typed clients write for an unset field. */
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

/** Typed clients write an empty time for an unset one. */
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
  if (typeof wire === "bigint") throw new RangeError("a number instead of bytes");
  return wire;
}

function numberOf(wire: bigint | Buffer): bigint {
  if (typeof wire !== "bigint") throw new RangeError("bytes instead of a number");
  return wire;
}
