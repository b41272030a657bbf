import { describe, expect, it } from "vitest";
import { decodeObject } from "./decode-object.ts";

type Part = readonly number[];

const varint = (value: number): Part => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
const integer = (field: number, value: number): Part => [...varint(field << 3), ...varint(value)];
const bytes = (field: number, value: Part): Part => [...varint((field << 3) | 2), ...varint(value.length), ...value];
const text = (field: number, value: string): Part => bytes(field, [...Buffer.from(value)]);
const message = (field: number, ...parts: readonly Part[]): Part => bytes(field, parts.flat());

function sent(kind: string, ...parts: readonly Part[]): Buffer {
  return sentAs("v1", kind, ...parts);
}

function sentAs(apiVersion: string, kind: string, ...parts: readonly Part[]): Buffer {
  const typeMeta = message(1, text(1, apiVersion), text(2, kind));
  return Buffer.from([...Buffer.from("k8s\0"), ...typeMeta, ...message(2, ...parts), ...text(3, ""), ...text(4, "")]);
}

const named = (name: string): Part => message(1, text(1, name), text(2, ""), integer(7, 0), message(8));

describe("an object in protobuf is read as the JSON that means the same:", () => {
  it("a ConfigMap with text and bytes", () => {
    const data = message(2, text(1, "a"), text(2, "1"));
    const more = message(2, text(1, "b"), text(2, ""));
    const binary = message(3, text(1, "c"), bytes(2, [0, 255]));
    expect(decodeObject(sent("ConfigMap", named("settings"), data, more, binary, integer(4, 0)))).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "settings" },
      data: { a: "1", b: "" },
      binaryData: { c: "AP8=" },
      immutable: false,
    });
  });

  it("a Service with ports by number and by name", () => {
    const port = (number: number, target: Part) => message(1, integer(3, number), message(4, ...[target]));
    const spec = message(
      2,
      port(80, integer(2, 8080)),
      port(443, [...integer(1, 1), ...text(3, "https")]),
      text(3, ""),
    );
    expect(decodeObject(sent("Service", named("web"), spec))).toMatchObject({
      spec: {
        ports: [
          { port: 80, targetPort: 8080 },
          { port: 443, targetPort: "https" },
        ],
      },
    });
  });

  it("metadata with a time, labels and owners", () => {
    const metadata = message(
      1,
      text(1, "a"),
      message(8, integer(1, 1_767_323_045)),
      message(11, text(1, "app"), text(2, "x")),
      message(13, text(1, "Pod"), text(3, "p"), integer(6, 1)),
    );
    expect(decodeObject(sent("Namespace", metadata))).toMatchObject({
      metadata: {
        creationTimestamp: "2026-01-02T03:04:05Z",
        labels: { app: "x" },
        ownerReferences: [{ kind: "Pod", name: "p", controller: true }],
      },
    });
  });
});

it.each(["v1", "coordination.k8s.io/v1"])(
  "options of a deletion in the version %s mean the same in protobuf",
  (version) => {
    const preconditions = message(2, text(1, "u"), text(2, "7"));
    const options = [integer(1, 0), preconditions, text(4, "Orphan"), text(5, "All")];
    expect(decodeObject(sentAs(version, "DeleteOptions", ...options))).toEqual({
      apiVersion: version,
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u", resourceVersion: "7" },
      propagationPolicy: "Orphan",
      dryRun: ["All"],
    });
    expect(decodeObject(sentAs(version, "DeleteOptions"))).toEqual({ apiVersion: version, kind: "DeleteOptions" });
  },
);

it("an unsupported kind is distinguished from a malformed object", () => {
  expect(decodeObject(sent("Deployment", named("a")))).toBeUndefined();
  expect(() => decodeObject(Buffer.from("{}"))).toThrow(RangeError);
});

it("bytes that end too early, or go on for ever, are refused", () => {
  expect(() => decodeObject(sent("Secret", named("a")).subarray(0, -6))).toThrow(RangeError);
  expect(() => decodeObject(Buffer.from([...Buffer.from("k8s\0"), ...Array(12).fill(0xff)]))).toThrow(RangeError);
});

describe("an object in protobuf with many parts is read in time that grows with their number only:", () => {
  const count = 15_000;
  const keys = Array.from({ length: count }, (_, index) => `k${index}`);

  it("a ConfigMap with 15,000 keys, one of them __proto__", () => {
    const entries = [...keys, "__proto__"].map((key) => message(2, text(1, key), text(2, "x")));
    const data = decodeObject(sent("ConfigMap", ...entries))?.["data"];
    expect(Object.keys(data ?? {}).join()).toBe([...keys, "__proto__"].join());
  });

  it("metadata with 15,000 finalizers", () => {
    const metadata = message(1, ...keys.map((key) => text(14, key)));
    expect(decodeObject(sent("Namespace", metadata))).toMatchObject({ metadata: { finalizers: keys } });
  });
});
