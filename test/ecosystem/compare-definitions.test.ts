import { expect, it } from "vitest";
import { differences } from "./compare-definitions.ts";

it("reports fields that only one definition has, and fields that differ", () => {
  const one = { spec: { scope: "Namespaced", versions: [{ name: "v1", served: true }, { name: "v2" }] } };
  const other = { spec: { scope: "Cluster", versions: [{ name: "v1", served: false }] } };
  expect(differences("", one, other)).toEqual(["/spec/scope", "/spec/versions/v1/served", "/spec/versions/v2"]);
});

it("ignores the description of a field, but not a field with that name", () => {
  expect(differences("", { a: { description: "one" } }, { a: { description: "another" } })).toEqual([]);
  expect(differences("", { description: { type: "string" } }, {})).toEqual(["/description"]);
});

it("compares the order of items without names", () => {
  expect(differences("", { required: ["a", "b"] }, { required: ["b", "a"] })).toEqual(["/required"]);
});
