import { expect, it } from "vitest";
import { podType } from "./core.ts";
import { resourcePath } from "./resource-type.ts";

it("the path of an object is unique to it, for any name", () => {
  expect(resourcePath(podType, { namespace: "lab", name: "nova" })).toBe("/api/v1/namespaces/lab/pods/nova");
  expect(resourcePath(podType, { namespace: "lab", name: "../a?b" })).toBe("/api/v1/namespaces/lab/pods/..%2Fa%3Fb");
  for (const name of [".", ".."]) {
    expect(() => resourcePath(podType, { namespace: "lab", name })).toThrow(RangeError);
    expect(() => resourcePath(podType, { namespace: name, name: "nova" })).toThrow(RangeError);
  }
});
