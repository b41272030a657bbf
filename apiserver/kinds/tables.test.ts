import { expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ServedKind } from "../served-kind.ts";
import { configMapKind } from "./builtin/config-data.ts";
import { includeObjectOf, tableOf } from "./tables.ts";

const now = new Date("2026-01-02T03:04:05Z");
const kind: ServedKind = {
  ...configMapKind,
  columns: [
    { name: "Name", type: "string", format: "name", cell: ({ metadata }) => metadata.name },
    { name: "Mood", type: "string", priority: 1, cell: () => undefined },
  ],
};
const thing = { metadata: { name: "a", resourceVersion: "7" }, spec: { x: 1 } } as KubeObject;

it("a table has a definition for each column and a cell for each definition", () => {
  expect(tableOf(kind, [thing], { includeObject: "Metadata", now, metadata: { resourceVersion: "9" } })).toEqual({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: "9" },
    columnDefinitions: [
      { name: "Name", type: "string", format: "name", description: "", priority: 0 },
      { name: "Mood", type: "string", format: "", description: "", priority: 1 },
    ],
    rows: [
      {
        cells: ["a", null],
        object: {
          kind: "PartialObjectMetadata",
          apiVersion: "meta.k8s.io/v1",
          metadata: { name: "a", resourceVersion: "7" },
        },
      },
    ],
  });
});

it("a row has the whole object or none if requested", () => {
  expect(tableOf(kind, [thing], { includeObject: "Object", now }).rows[0]?.object).toBe(thing);
  expect(tableOf(kind, [thing], { includeObject: "None", now }).rows[0]).toEqual({ cells: ["a", null] });
});

it("the table of one object has that object's version", () => {
  expect(tableOf(kind, [thing], { includeObject: "None", now }).metadata).toEqual({ resourceVersion: "7" });
});

it.each([
  [null, "Metadata"],
  ["Object", "Object"],
  ["None", "None"],
  ["Everything", "Metadata"],
])("includeObject=%s is %s", (asked, include) => {
  expect(includeObjectOf(asked)).toBe(include);
});
