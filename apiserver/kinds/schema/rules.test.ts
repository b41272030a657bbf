import { expect, it } from "vitest";
import type { OpenApiSchema, SchemaRule } from "../../served-kind.ts";
import { compileSchema } from "./compile.ts";

function compile(...rules: readonly SchemaRule[]) {
  const spec: OpenApiSchema = {
    type: "object",
    properties: { size: { type: "integer" }, names: { type: "array", items: { type: "string" } } },
    "x-kubernetes-validations": rules,
  };
  return compileSchema({ type: "object", required: ["spec"], properties: { spec } });
}

const immutable: SchemaRule = {
  rule: "has(self.names) == has(oldSelf.names) && (!has(self.names) || self.names == oldSelf.names)",
  message: "names is immutable",
};

it("reports the message of a violated rule, without the object", () => {
  const { validate } = compile({ rule: "self.size <= 3", message: "too large" });
  expect(validate({ spec: { size: 3 } }, undefined)).toEqual([]);
  expect(validate({ spec: { size: 4 } }, undefined)).toEqual([
    { reason: "FieldValueInvalid", field: "spec", message: "Invalid value: too large" },
  ]);
});

it("reports the rule itself if it has no message", () => {
  const [cause] = compile({ rule: "self.size <= 3" }).validate({ spec: { size: 4 } }, undefined);
  expect(cause?.message).toBe("Invalid value: failed rule: self.size <= 3");
});

it("evaluates a transition rule only if an old object exists", () => {
  const { validate } = compile(immutable);
  expect(validate({ spec: { names: ["a"] } }, undefined)).toEqual([]);
  expect(validate({ spec: { names: ["a"] } }, { spec: { names: ["a"] } })).toEqual([]);
});

it.each([
  ["a change", { names: ["b"] }],
  ["an addition", { names: ["a", "b"] }],
  ["a removal", {}],
])("a transition rule refuses %s", (_case, spec) => {
  const causes = compile(immutable).validate({ spec }, { spec: { names: ["a"] } });
  expect(causes.map(({ message }) => message)).toEqual(["Invalid value: names is immutable"]);
});

it("asks a rule with an optional old object on creation too", () => {
  const { validate } = compile({
    rule: "self.size <= 3 || (oldSelf.hasValue() && oldSelf.value().size > 3)",
    message: "may not grow above 3",
    optionalOldSelf: true,
  });
  expect(validate({ spec: { size: 4 } }, undefined)).toHaveLength(1);
  expect(validate({ spec: { size: 4 } }, { spec: { size: 2 } })).toHaveLength(1);
  expect(validate({ spec: { size: 4 } }, { spec: { size: 9 } })).toEqual([]);
});

it("skips the rules when the object does not match the schema, and reports this", () => {
  const causes = compile({ rule: "self.size <= 3" }).validate({ spec: { size: "x" } }, undefined);
  expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual([
    'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
  ]);
});

it("refuses rules that cannot be read when the schema is compiled", () => {
  expect(() => compile({ rule: "self.size <=" })).toThrow();
});
