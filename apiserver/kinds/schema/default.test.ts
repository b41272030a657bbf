import { expect, it } from "vitest";
import type { OpenApiSchema } from "../../served-kind.ts";
import { compileDefaults } from "./default.ts";

const mode: OpenApiSchema = { type: "string", default: "Running" };

const schema: OpenApiSchema = {
  type: "object",
  properties: {
    mode,
    lifecycle: { type: "object", properties: { policy: { type: "string", default: "Retain" } } },
    ports: { type: "array", items: { type: "object", properties: { protocol: { type: "string", default: "TCP" } } } },
    byName: { type: "object", additionalProperties: { type: "object", properties: { mode } } },
  },
};

const applyDefaults = compileDefaults(schema);

it("sets a default where its key is missing", () => {
  expect(applyDefaults({})).toEqual({ mode: "Running" });
});

it("is applied in existing objects, lists and maps, and creates none", () => {
  expect(applyDefaults({ lifecycle: {}, ports: [{}], byName: { a: {} } })).toEqual({
    mode: "Running",
    lifecycle: { policy: "Retain" },
    ports: [{ protocol: "TCP" }],
    byName: { a: { mode: "Running" } },
  });
});

it("takes a null for a missing value, unless the schema allows nulls", () => {
  expect(applyDefaults({ mode: null, lifecycle: null })).toEqual({ mode: "Running" });
  expect(
    compileDefaults({ type: "object", properties: { a: { type: "string", nullable: true } } })({ a: null }),
  ).toEqual({ a: null });
});

it("applies defaults within a default", () => {
  const nested: OpenApiSchema = { type: "object", default: {}, properties: { mode } };
  expect(compileDefaults({ type: "object", properties: { nested } })({})).toEqual({ nested: { mode: "Running" } });
});

it("never hands out the same default object twice", () => {
  const nested: OpenApiSchema = { type: "object", default: { a: 1 } };
  const fill = compileDefaults({ type: "object", properties: { nested } });
  const [first, second] = [fill({}), fill({})] as { nested: object }[];
  expect(first?.nested).not.toBe(second?.nested);
});

it("returns the same object if no default is missing", () => {
  const value = { mode: "Suspended", ports: [{ protocol: "UDP" }] };
  expect(applyDefaults(value)).toBe(value);
});
