import { expect, it } from "vitest";
import type { OpenApiSchema } from "../../served-kind.ts";
import { compilePrune } from "./prune.ts";

const text: OpenApiSchema = { type: "string" };

function prune(schema: OpenApiSchema, value: unknown) {
  const dropped: string[] = [];
  return { value: compilePrune(schema)(value, "", dropped), dropped };
}

it("removes unknown fields and reports their paths", () => {
  const schema: OpenApiSchema = {
    type: "object",
    properties: { name: text, ports: { type: "array", items: { type: "object", properties: { port: text } } } },
  };
  expect(prune(schema, { name: "a", nmae: "b", ports: [{ port: "1" }, { port: "2", prt: "3" }] })).toEqual({
    value: { name: "a", ports: [{ port: "1" }, { port: "2" }] },
    dropped: ["nmae", "ports[1].prt"],
  });
});

it("returns the same object if nothing is removed", () => {
  const value = { name: "a" };
  expect(prune({ type: "object", properties: { name: text } }, value).value).toBe(value);
});

it("keeps every key of a map, and prunes its values", () => {
  const schema: OpenApiSchema = { type: "object", additionalProperties: { type: "object", properties: { a: text } } };
  expect(prune(schema, { x: { a: "1", b: "2" } })).toEqual({ value: { x: { a: "1" } }, dropped: ["x.b"] });
});

it("keeps unknown fields if the schema permits it, and prunes the known ones below", () => {
  const schema: OpenApiSchema = {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: { known: { type: "object", properties: { a: text } } },
  };
  expect(prune(schema, { other: { z: 1 }, known: { a: "1", b: "2" } })).toEqual({
    value: { other: { z: 1 }, known: { a: "1" } },
    dropped: ["known.b"],
  });
});

it("empties an object whose schema has no properties", () => {
  expect(prune({ type: "object", properties: { metadata: { type: "object" } } }, { metadata: { labels: {} } })).toEqual(
    {
      value: { metadata: {} },
      dropped: ["metadata.labels"],
    },
  );
});

it("leaves values of the wrong type for validation", () => {
  expect(prune({ type: "object", properties: { name: { type: "object" } } }, { name: "a" }).value).toEqual({
    name: "a",
  });
});
