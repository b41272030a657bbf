import { describe, expect, it } from "vitest";
import type { PersistentVolumeClaim } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { cellsOf, createComplaints, prepared, updateComplaints } from "../../../test/support/admissions.ts";
import { servedKinds } from "../served-kinds.ts";
import { namespaceKind, nodeKind } from "./cluster.ts";
import { configMapKind, secretKind } from "./config-data.ts";
import { endpointSliceKind } from "./endpoint-slice.ts";
import { leaseKind } from "./lease.ts";
import { networkPolicyKind } from "./network-policy.ts";
import { volumeClaimKind } from "./volume-claim.ts";

/** Fields of any kind: the tests put invalid ones into them. */
const object = (fields: object): KubeObject => ({ metadata: { name: "a", namespace: "default" }, ...fields });

describe("Secret", () => {
  it("merges text into the data as base64", () => {
    expect(prepared(secretKind, object({ data: { a: "MQ==" }, stringData: { b: "2" } }))).toEqual(
      object({ type: "Opaque", data: { a: "MQ==", b: "Mg==" } }),
    );
  });

  it("refuses data that is not base64", () => {
    expect(createComplaints(secretKind, object({ data: { a: "?" } }))).toEqual([
      'data.a: Invalid value: "?": data.a in body must be of type byte: "?"',
    ]);
  });

  it("keeps its type", () => {
    expect(updateComplaints(secretKind, object({}), object({ type: "other" }))).toEqual([
      'type: Invalid value: "other": field is immutable',
    ]);
  });
});

describe("ConfigMap", () => {
  it("refuses keys that cannot be files", () => {
    const [complaint] = createComplaints(configMapKind, object({ data: { "a/b": "1" } }));
    expect(complaint).toMatch(/^data\[a\/b\]: Invalid value: "a\/b": a valid config key must consist of/);
  });

  it("stays as it is once it is immutable", () => {
    const frozen = object({ data: { a: "1" }, immutable: true });
    expect(updateComplaints(configMapKind, frozen, object({ data: { a: "2" } }))).toEqual([
      "immutable: Forbidden: field is immutable when `immutable` is set",
      "data: Forbidden: field is immutable when `immutable` is set",
    ]);
  });

  it("counts its keys", () => {
    expect(cellsOf(configMapKind, object({ data: { a: "1" }, binaryData: { b: "MQ==" } }))).toMatchObject({ Data: 2 });
  });
});

describe("PersistentVolumeClaim", () => {
  const claim = (spec: object = {}) =>
    object({ spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec } });

  it("is pending until it is bound", () => {
    expect(prepared<PersistentVolumeClaim>(volumeClaimKind, claim()).status).toEqual({ phase: "Pending" });
  });

  it.each([
    ["without a size", { resources: {} }, "spec.resources[storage]: Required value"],
    [
      "without access modes",
      { accessModes: [] },
      "spec.accessModes: Required value: at least 1 access mode is required",
    ],
    [
      "with an access mode that there is not",
      { accessModes: ["X"] },
      'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
  ])("is refused %s", (_case, spec, complaint) => {
    expect(createComplaints(volumeClaimKind, claim(spec))).toEqual([complaint]);
  });

  it("may only grow and be bound", () => {
    const bound = claim({ volumeName: "v", resources: { requests: { storage: "2Gi" } } });
    expect(updateComplaints(volumeClaimKind, claim(), bound)).toEqual([]);
    expect(updateComplaints(volumeClaimKind, claim(), claim({ storageClassName: "other" }))).toEqual([
      "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    ]);
  });

  it("shows its volume once it is bound", () => {
    const status = { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
    expect(cellsOf(volumeClaimKind, { ...claim({ volumeName: "v" }), status } as KubeObject)).toMatchObject({
      Status: "Bound",
      Volume: "v",
      Capacity: "1Gi",
      "Access Modes": "RWO",
    });
  });
});

describe("Namespace", () => {
  it("is active, and has its name as a label", () => {
    expect(prepared(namespaceKind, { metadata: { name: "a" } })).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "a" } },
      status: { phase: "Active" },
    });
  });

  it("takes no name with a dot", () => {
    expect(createComplaints(namespaceKind, { metadata: { name: "a.b" } })[0]).toMatch(
      /a lowercase RFC 1123 label must/,
    );
  });
});

it("a Node shows its readiness and its roles", () => {
  const node = {
    metadata: { name: "n", labels: { "node-role.kubernetes.io/control-plane": "" } },
    spec: { unschedulable: true },
    status: { conditions: [{ type: "Ready", status: "True" }], nodeInfo: { kubeletVersion: "v1" } },
  } as KubeObject;
  expect(cellsOf(nodeKind, node)).toMatchObject({
    Status: "Ready,SchedulingDisabled",
    Roles: "control-plane",
    Version: "v1",
    "Internal-IP": "<none>",
  });
});

it("a Lease rejects a duration of zero", () => {
  expect(createComplaints(leaseKind, object({ spec: { leaseDurationSeconds: 0 } }))).toEqual([
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
  ]);
});

it("a NetworkPolicy's types follow from its rules", () => {
  expect(prepared(networkPolicyKind, object({ spec: { egress: [{}] } }))).toMatchObject({
    spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
  });
});

describe("EndpointSlice", () => {
  const slice = (fields: object) =>
    object({ addressType: "IPv4", endpoints: [{ addresses: ["127.0.0.2"] }], ...fields });

  it("keeps its kind of addresses", () => {
    const empty = slice({ endpoints: [] });
    expect(updateComplaints(endpointSliceKind, empty, { ...empty, addressType: "IPv6" } as KubeObject)).toEqual([
      'addressType: Invalid value: "IPv6": field is immutable',
    ]);
  });

  it.each([
    ["two ports of one name", { ports: [{ port: 1 }, { port: 2 }] }, 'ports[1].name: Duplicate value: ""'],
    ["an endpoint that is nowhere", { endpoints: [{ addresses: [] }] }, "endpoints[0].addresses: Required value: must"],
    [
      "an invalid address",
      { endpoints: [{ addresses: ["a"] }] },
      'endpoints[0].addresses[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      "addresses of both families",
      { endpoints: [{ addresses: ["127.0.0.1"] }, { addresses: ["::1"] }] },
      'endpoints[1].addresses: Invalid value: "::1": must be an IPv4 address',
    ],
    ["an address of any interface", { endpoints: [{ addresses: ["0.0.0.0"] }] }, "may not be unspecified"],
  ])("is refused with %s", (_case, fields, complaint) => {
    expect(createComplaints(endpointSliceKind, slice(fields))).toEqual([expect.stringContaining(complaint)]);
  });

  it("is refused with a port's name that is no label", () => {
    expect(createComplaints(endpointSliceKind, slice({ ports: [{ name: "A_b", port: 1 }] }))).toEqual([
      expect.stringMatching(/^ports\[0\]\.name: Invalid value: "A_b": a lowercase RFC 1123 label must consist of/),
    ]);
  });

  it("shows the first three addresses and how many there are", () => {
    const endpoints = [{ addresses: ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"] }];
    expect(cellsOf(endpointSliceKind, slice({ endpoints }))).toMatchObject({
      Ports: "<unset>",
      Endpoints: "127.0.0.1,127.0.0.2,127.0.0.3 + 1 more...",
    });
  });
});

describe("a manifest of the wrong shape", () => {
  const kinds = servedKinds().filter(({ strategicMerge }) => strategicMerge);
  const shapes = ["text", 1, null, [], ["text"], [null], { a: null }];

  it.each(kinds.map((kind) => [kind.type.kind, kind] as const))(
    "is rejected or accepted as a %s, without a crash",
    (_name, kind) => {
      const { spec, ...fields } = kind.schema.properties ?? {};
      const inSpec = Object.keys(spec?.properties ?? {}).flatMap((field) =>
        shapes.map((shape) => object({ spec: { [field]: shape } })),
      );
      const onTop = ["spec", "status", ...Object.keys(fields)]
        .filter((field) => field !== "metadata")
        .flatMap((field) => shapes.map((shape) => object({ [field]: shape })));
      for (const wrong of [...inSpec, ...onTop]) {
        expect(() => createComplaints(kind, wrong)).not.toThrow();
        expect(() => updateComplaints(kind, object({}), wrong)).not.toThrow();
      }
    },
  );
});
