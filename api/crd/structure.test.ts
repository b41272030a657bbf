import { describe, expect, it } from "vitest";
import { allDefinitions } from "./definitions.ts";
import type { JsonSchema } from "./json-schema.ts";
import { podSpec } from "./pod-spec.ts";

interface Place {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** A schema and its subschemas, with their paths from the root. */
function everything({ path, schema }: Place): readonly Place[] {
  const inside: Place[] = Object.entries(schema.properties ?? {}).map(([name, child]) => ({
    path: `${path}.${name}`,
    schema: child,
  }));
  if (schema.items) inside.push({ path: `${path}[]`, schema: schema.items });
  if (schema.additionalProperties) inside.push({ path: `${path}{}`, schema: schema.additionalProperties });
  return [{ path, schema }, ...inside.flatMap(everything)];
}

const all = allDefinitions().flatMap(({ spec }) =>
  spec.versions.flatMap(({ name, schema }) =>
    everything({ path: `${name} ${spec.names.kind}`, schema: schema.openAPIV3Schema }),
  ),
);
const pod = everything({ path: "spec", schema: podSpec });
const inPod = (path: string): JsonSchema | undefined => pod.find((place) => place.path === `spec.${path}`)?.schema;
const isPartOfCoreApi = (path: string) =>
  /\.podTemplate\.spec\.|\.volumeClaimTemplates\[\]\.spec\.|\.httpGet\.|\.(ingress|egress)\[\]\.|\.metadata$/.test(
    path,
  );

describe("every schema", () => {
  it("prunes unknown fields", () => {
    expect(JSON.stringify(allDefinitions())).not.toContain("preserve-unknown-fields");
  });

  it("has the keys of a list of keyed items required or defaulted", () => {
    const keyless = all.flatMap(({ path, schema }) =>
      (schema["x-kubernetes-list-map-keys"] ?? [])
        .filter((key) => !schema.items?.required?.includes(key))
        .filter((key) => schema.items?.properties?.[key]?.default === undefined)
        .map((key) => `${path}: ${key}`),
    );
    expect(keyless).toEqual([]);
  });

  it("requires only fields that it has", () => {
    const unknown = all.flatMap(({ path, schema }) =>
      (schema.required ?? []).filter((name) => !schema.properties?.[name]).map((name) => `${path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it("has a type, or int-or-string", () => {
    const typeless = all.filter(({ schema }) => !schema.type && !schema["x-kubernetes-int-or-string"]);
    expect(typeless).toEqual([]);
  });

  it("explains every field of our kinds", () => {
    const silent = all
      .filter(({ path, schema }) => !schema.description && !path.endsWith("[]") && !path.endsWith("{}"))
      .map(({ path }) => path)
      .filter((path) => !isPartOfCoreApi(path));
    expect(silent).toEqual([]);
  });

  it("is explained in sentences that name what they are about, and use no pronoun for it", () => {
    const texts = [...new Set(all.flatMap(({ schema }) => schema.description ?? []))];
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter((text) => /\b(it|its|they|them|their|theirs)\b/i.test(text))).toEqual([]);
    expect(texts.filter((text) => !/^[A-Z].*\.$/.test(text))).toEqual([]);
  });
});

describe("the schema of a Pod", () => {
  it("requires containers, identified by their names, and of them only the name", () => {
    expect(podSpec.required).toEqual(["containers"]);
    for (const list of ["containers", "initContainers", "ephemeralContainers"]) {
      expect(inPod(list)).toMatchObject({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] });
      expect(inPod(`${list}[]`)?.required).toEqual(["name"]);
    }
    expect(inPod("ephemeralContainers[].targetContainerName")).toEqual({ type: "string" });
  });

  it.each([
    ["containers[].ports", ["containerPort", "protocol"]],
    ["containers[].env", ["name"]],
    ["containers[].volumeMounts", ["mountPath"]],
    ["containers[].volumeDevices", ["devicePath"]],
    ["topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]],
    ["hostAliases", ["ip"]],
    ["imagePullSecrets", ["name"]],
    ["volumes", ["name"]],
  ])("identifies the items of %s by %j", (path, keys) => {
    expect(inPod(path)).toMatchObject({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });
  });

  it.each([
    ["containers[].ports[].protocol", "TCP"],
    ["containers[].livenessProbe.grpc.service", ""],
    ["containers[].env[].valueFrom.secretKeyRef.name", ""],
    ["containers[].env[].valueFrom.fileKeyRef.optional", false],
    ["imagePullSecrets[].name", ""],
    ["volumes[].azureDisk.fsType", "ext4"],
    ["volumes[].azureDisk.readOnly", false],
    ["volumes[].iscsi.iscsiInterface", "default"],
    ["volumes[].rbd.keyring", "/etc/ceph/keyring"],
    ["volumes[].rbd.pool", "rbd"],
    ["volumes[].rbd.user", "admin"],
    ["volumes[].scaleIO.fsType", "xfs"],
    ["volumes[].scaleIO.storageMode", "ThinProvisioned"],
  ])("has for %s the default that the core API has: %j", (path, value) => {
    expect(inPod(path)?.default).toBe(value);
  });

  it("has no other defaults than those of names and of the list above", () => {
    const paths = pod
      .filter(({ schema }) => schema.default !== undefined && schema.default !== "")
      .map(({ path }) => path.replace(/^spec\.(init|ephemeral)?[cC]ontainers/, "containers").replace(/^spec\./, ""));
    expect([...new Set(paths)].sort()).toEqual([
      "containers[].env[].valueFrom.fileKeyRef.optional",
      "containers[].ports[].protocol",
      "volumes[].azureDisk.fsType",
      "volumes[].azureDisk.readOnly",
      "volumes[].iscsi.iscsiInterface",
      "volumes[].rbd.keyring",
      "volumes[].rbd.pool",
      "volumes[].rbd.user",
      "volumes[].scaleIO.fsType",
      "volumes[].scaleIO.storageMode",
    ]);
  });

  it("has no enums and no bounds: the API server that gets the Pod judges it", () => {
    const strict = pod.filter(({ schema }) => schema.enum || schema.minimum !== undefined || schema.maxLength);
    expect(strict).toEqual([]);
  });

  it("takes amounts as numbers and as text of one pattern", () => {
    const amount = inPod("containers[].resources.limits{}");
    expect(amount).toMatchObject({
      "x-kubernetes-int-or-string": true,
      anyOf: [{ type: "integer" }, { type: "string" }],
    });
    const pattern = new RegExp(amount?.pattern ?? "");
    expect(["1", "500m", "1.5Gi", ".5", "-1", "+2k", "1e3", "1E-3"].filter((text) => !pattern.test(text))).toEqual([]);
    expect(["", "Gi", "1 Gi", "1gi", "1.5.5", "1e", "one"].filter((text) => pattern.test(text))).toEqual([]);
  });

  it.each(["containers[].readinessProbe.httpGet.port", "containers[].lifecycle.preStop.tcpSocket.port"])(
    "takes %s as a number and as a name, without a pattern",
    (path) => {
      expect(inPod(path)).toEqual({
        anyOf: [{ type: "integer" }, { type: "string" }],
        "x-kubernetes-int-or-string": true,
      });
    },
  );

  it("has a nodeSelector that server-side apply replaces as a whole", () => {
    expect(inPod("nodeSelector")).toMatchObject({ "x-kubernetes-map-type": "atomic" });
  });

  it("lets fields through that are newer than Kubernetes 1.36", () => {
    expect(inPod("evictionResponders")).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    });
    expect(inPod("containers[].volumeMounts[].bindMountOptions")).toMatchObject({ "x-kubernetes-list-type": "set" });
  });

  it("prunes the labels of an ephemeral volume's claim, as the contract has it", () => {
    expect(inPod("volumes[].ephemeral.volumeClaimTemplate.metadata")).toEqual({ type: "object" });
  });
});
