import { expect, it } from "vitest";
import { differences } from "./compare-definitions.ts";

it("finds what one definition has and the other has not, and what is another there", () => {
  const one = { spec: { scope: "Namespaced", versions: [{ name: "v1", served: true }, { name: "v2" }] } };
  const other = { spec: { scope: "Cluster", versions: [{ name: "v1", served: false }] } };
  expect(differences("", one, other)).toEqual(["/spec/scope", "/spec/versions/v1/served", "/spec/versions/v2"]);
});

it("does not mind how a field is described, but whether there is one of that name", () => {
  expect(differences("", { a: { description: "one" } }, { a: { description: "another" } })).toEqual([]);
  expect(differences("", { description: { type: "string" } }, {})).toEqual(["/description"]);
});

it("minds the order of what has no names", () => {
  expect(differences("", { required: ["a", "b"] }, { required: ["b", "a"] })).toEqual(["/required"]);
});
