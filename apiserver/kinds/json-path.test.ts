import { expect, it } from "vitest";
import { compileJsonPath } from "./json-path.ts";

const object = {
  spec: { replicas: 1 },
  metadata: { labels: { "a/b": "c" } },
  status: {
    conditions: [
      { type: "Suspended", status: "False" },
      { type: "Ready", status: "True" },
    ],
  },
};

it.each([
  [".spec.replicas", 1],
  [".metadata.labels['a/b']", "c"],
  [".status.conditions[0].type", "Suspended"],
  [".status.conditions[?(@.type=='Ready')].status", "True"],
  ['.status.conditions[?(@.type=="Ready")].status', "True"],
  [".status.conditions[?(@.type=='Other')].status", undefined],
  [".nothing.there", undefined],
])("%s reads %j", (path, value) => {
  expect(compileJsonPath(path)(object)).toBe(value);
});

it("refuses paths that it does not understand", () => {
  expect(() => compileJsonPath(".spec..name")).toThrow("cannot read the JSON path .spec..name");
});
