import { describe, expect, it } from "vitest";
import type { OpenApiSchema } from "../../served-kind.ts";
import { compileSchema } from "./compile.ts";

/** An API server's errors about `spec.field`, as `kubectl` prints them. */
function complaints(field: OpenApiSchema, value: unknown): readonly string[] {
  const schema: OpenApiSchema = {
    type: "object",
    properties: { spec: { type: "object", properties: { field } } },
  };
  const causes = compileSchema(schema).validate({ spec: { field: value } }, undefined);
  return causes.map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`);
}

describe("types", () => {
  it.each<[string, OpenApiSchema, unknown, string]>([
    [
      "text for a truth value",
      { type: "boolean" },
      "x",
      'Invalid value: "string": spec.field in body must be of type boolean: "string"',
    ],
    [
      "a number for text",
      { type: "string" },
      1,
      'Invalid value: "integer": spec.field in body must be of type string: "integer"',
    ],
    [
      "text for a number with a format",
      { type: "integer", format: "int32" },
      "1",
      'Invalid value: "string": spec.field in body must be of type integer: "string"',
    ],
    [
      "a fraction for an integer",
      { type: "integer", format: "int32" },
      1.5,
      'Invalid value: "float64": spec.field in body must be of type int32: "float64"',
    ],
    [
      "a number for a time",
      { type: "string", format: "date-time" },
      1,
      'Invalid value: "int64": spec.field in body must be of type date-time: "int64"',
    ],
    [
      "a list for an object",
      { type: "object" },
      [],
      'Invalid value: "array": spec.field in body must be of type object: "array"',
    ],
    [
      "null where none is allowed",
      { type: "object" },
      null,
      'Invalid value: "null": spec.field in body must be of type object: "null"',
    ],
    [
      "a truth value for int-or-string",
      { "x-kubernetes-int-or-string": true },
      true,
      'Invalid value: "boolean": spec.field in body must be of type integer,string: "boolean"',
    ],
    [
      "no time at all",
      { type: "string", format: "date-time" },
      "tomorrow",
      'Invalid value: "tomorrow": spec.field in body must be of type date-time: "tomorrow"',
    ],
  ])("refuses %s", (_case, schema, value, message) => {
    expect(complaints(schema, value)).toEqual([`FieldValueTypeInvalid spec.field: ${message}`]);
  });

  it.each<[string, OpenApiSchema, unknown]>([
    ["an integer for a number", { type: "number" }, 1],
    ["a number and text for int-or-string", { "x-kubernetes-int-or-string": true }, "80"],
    ["a time with microseconds", { type: "string", format: "date-time" }, "2026-01-02T03:04:05.123456Z"],
    ["null where the schema allows it", { type: "string", nullable: true }, null],
    ["any value without a type", {}, { a: [1] }],
  ])("takes %s", (_case, schema, value) => {
    expect(complaints(schema, value)).toEqual([]);
  });
});

describe("values", () => {
  it.each<[string, OpenApiSchema, unknown, string]>([
    [
      "an unknown word",
      { type: "string", enum: ["Running", "Suspended"] },
      "x",
      'FieldValueNotSupported spec.field: Unsupported value: "x": supported values: "Running", "Suspended"',
    ],
    [
      "a number below the least",
      { type: "integer", minimum: 0 },
      -1,
      "FieldValueInvalid spec.field: Invalid value: -1: spec.field in body should be greater than or equal to 0",
    ],
    [
      "a number above the greatest",
      { type: "integer", maximum: 1 },
      2,
      "FieldValueInvalid spec.field: Invalid value: 2: spec.field in body should be less than or equal to 1",
    ],
    [
      "a number that an int32 cannot hold",
      { type: "integer", format: "int32" },
      2 ** 31,
      'FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.field',
    ],
    [
      "text that is too short",
      { type: "string", minLength: 1 },
      "",
      'FieldValueInvalid spec.field: Invalid value: "": spec.field in body should be at least 1 chars long',
    ],
    [
      "text that is too long",
      { type: "string", maxLength: 2 },
      "abc",
      "FieldValueTooLong spec.field: Too long: may not be more than 2 bytes",
    ],
    [
      "text of another shape",
      { type: "string", pattern: "^a+$" },
      "b",
      "FieldValueInvalid spec.field: Invalid value: \"b\": spec.field in body should match '^a+$'",
    ],
    [
      "a list that is too long",
      { type: "array", maxItems: 1 },
      [1, 2],
      "FieldValueTooMany spec.field: Too many: 2: must have at most 1 item",
    ],
    [
      "a value twice in a set",
      { type: "array", "x-kubernetes-list-type": "set" },
      ["a", "a"],
      'FieldValueDuplicate spec.field[1]: Duplicate value: "a"',
    ],
    [
      "a missing field",
      { type: "object", required: ["name"] },
      {},
      "FieldValueRequired spec.field.name: Required value",
    ],
  ])("refuses %s", (_case, schema, value, complaint) => {
    expect(complaints(schema, value)).toEqual([complaint]);
  });

  it("identifies items of a list map by their keys, including defaults", () => {
    const ports: OpenApiSchema = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
      items: { type: "object", properties: { protocol: { type: "string", default: "TCP" } } },
    };
    expect(complaints(ports, [{ port: 80 }, { port: 80, protocol: "UDP" }, { port: 80, protocol: "TCP" }])).toEqual([
      'FieldValueDuplicate spec.field[2]: Duplicate value: {"port":80,"protocol":"TCP"}',
    ]);
  });

  it("names items and map values by their path", () => {
    const schema: OpenApiSchema = {
      type: "array",
      items: { type: "object", additionalProperties: { type: "string" } },
    };
    expect(complaints(schema, [{}, { a: 1 }])).toEqual([
      'FieldValueTypeInvalid spec.field[1].a: Invalid value: "integer": spec.field[1].a in body must be of type string: "integer"',
    ]);
  });
});
