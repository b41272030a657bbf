import { expect, it } from "vitest";
import { memoryImageType } from "../kinds/memory-image.ts";
import { customResourceDefinitions } from "./definitions.ts";
import { memoryImageDefinition } from "./memory-image.ts";

it("the definition of MemoryImage has one version, and asks no webhook", () => {
  const { group, names, conversion, versions, scope } = memoryImageDefinition.spec;
  expect({ group, kind: names.kind, plural: names.plural, version: versions[0]?.name }).toEqual({
    group: memoryImageType.group,
    kind: memoryImageType.kind,
    plural: memoryImageType.plural,
    version: memoryImageType.version,
  });
  expect({ conversion, scope, versions: versions.length }).toEqual({
    conversion: { strategy: "None" },
    scope: "Namespaced",
    versions: 1,
  });
});

it("the definition of MemoryImage is none of those that every installation has", () => {
  expect(customResourceDefinitions().map(({ spec }) => spec.names.kind)).toEqual([
    "Sandbox",
    "SandboxClaim",
    "SandboxTemplate",
    "SandboxWarmPool",
  ]);
});
