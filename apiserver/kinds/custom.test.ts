import { describe, expect, it } from "vitest";
import { sandboxDefinition } from "../../api/crd/sandbox.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { cellsOf, createComplaints, prepared, testNow, updateComplaints } from "../../test/support/admissions.ts";
import { customKind } from "./custom.ts";

const kind = customKind(sandboxDefinition, "v1beta1");

const sandbox = (spec: object = {}): KubeObject =>
  ({
    metadata: { name: "hello", namespace: "default" },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "example/app" }] } }, ...spec },
  }) as KubeObject;

it("a kind has the names, subresources and columns of its definition", () => {
  expect(kind).toMatchObject({
    type: { group: "agents.x-k8s.io", version: "v1beta1", kind: "Sandbox", plural: "sandboxes", namespaced: true },
    singular: "sandbox",
    listKind: "SandboxList",
    shortNames: ["sandbox"],
    hasStatus: true,
    strategicMerge: false,
  });
  expect(kind.scale).toBeUndefined();
  expect(kind.columns.filter(({ priority }) => !priority).map(({ name }) => name)).toEqual([
    "Name",
    "Ready",
    "Reason",
    "Age",
  ]);
});

it("a version with the scale subresource has the paths of its numbers", () => {
  expect(customKind(sandboxDefinition, "v1alpha1").scale).toEqual({
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  });
});

it("a version that the definition does not have is refused", () => {
  expect(() => customKind(sandboxDefinition, "v2")).toThrow("sandboxes.agents.x-k8s.io has no version v2");
});

it("defaults are set and unknown fields are reported", () => {
  const { object, unknownFields } = kind.prepare(sandbox({ operatngMode: "Suspended" }));
  expect(object).toMatchObject({ spec: { operatingMode: "Running", shutdownPolicy: "Retain" } });
  expect(unknownFields).toEqual(["spec.operatngMode"]);
});

describe("cells", () => {
  it("come from the condition that the definition names", () => {
    const status = { conditions: [{ type: "Ready", status: "False", reason: "SandboxSuspended" }] };
    const metadata = { name: "hello", creationTimestamp: "2026-01-02T03:01:03Z" };
    expect(cellsOf(kind, { ...sandbox(), metadata, status } as KubeObject)).toMatchObject({
      Ready: "False",
      Reason: "SandboxSuspended",
      Age: "3m2s",
    });
  });

  it("are empty if the object has no values for them", () => {
    expect(cellsOf(kind, sandbox())).toMatchObject({ Ready: null, Age: null });
  });
});

it("an invalid object is refused with every cause", () => {
  const wrong = { metadata: { name: "hello" }, spec: { service: "x", operatingMode: "Asleep" } } as KubeObject;
  expect(createComplaints(kind, wrong)).toEqual([
    "spec.podTemplate: Required value",
    'spec.service: Invalid value: "string": spec.service in body must be of type boolean: "string"',
    'spec.operatingMode: Unsupported value: "Asleep": supported values: "Running", "Suspended"',
    expect.stringContaining("some validation rules were not checked"),
  ]);
});

it("volume claim templates cannot be changed", () => {
  const claims = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] };
  expect(updateComplaints(kind, sandbox(), sandbox(claims))).toEqual([
    "spec: Invalid value: volumeClaimTemplates is immutable",
  ]);
});

it("a status is validated in far less than a millisecond", () => {
  const old = prepared(kind, sandbox());
  const status = {
    conditions: [
      { type: "Ready", status: "True", reason: "A", message: "", lastTransitionTime: "2026-01-02T03:04:05Z" },
    ],
  };
  const object = { ...old, status } as KubeObject;
  const admission = { operation: "update", subresource: "status", old, now: testNow } as const;
  const tookMs = Array.from({ length: 500 }, () => {
    const startMs = performance.now();
    kind.validate(kind.prepare(object).object, admission);
    return performance.now() - startMs;
  });
  // The fastest: other load of this machine may have interrupted the others.
  expect(Math.min(...tookMs)).toBeLessThan(1);
});
