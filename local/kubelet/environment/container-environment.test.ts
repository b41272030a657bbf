import { describe, expect, it } from "vitest";
import type { Container, EnvVar } from "../../../api/kinds/core.ts";
import { ByteBudget } from "../byte-budget.ts";
import { StartRefused } from "../start-refusal.ts";
import {
  environmentReferences,
  inheritedEnvironment,
  makeEnvironment,
  type ReferredObjects,
  volumeVariable,
} from "./container-environment.ts";

const metadata = {
  name: "nova",
  namespace: "lab",
  uid: "uid-1",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
  labels: { team: "red", "example.com/tier": "gold" },
  annotations: { note: "hi" },
};
const nothing: ReferredObjects = { configMaps: new Map(), secrets: new Map() };

function environmentOf(container: Partial<Container>, objects: ReferredObjects = nothing, bytesMax = 2_000) {
  return makeEnvironment({
    pod: { metadata, spec: { containers: [], serviceAccountName: "robot" } },
    container: { name: "main", ...container },
    place: { podIp: "127.64.0.1", hostIp: "127.0.0.1", nodeName: "local" },
    objects,
    inherited: { PATH: "/bin" },
    services: { DB_SERVICE_HOST: "127.96.0.1" },
    volumeDirectories: new Map([["my-data", "/volumes/1"]]),
    budget: new ByteBudget("the variables", bytesMax),
  });
}

const withField = (fieldPath: string): EnvVar => ({ name: "X", valueFrom: { fieldRef: { fieldPath } } });
const settings: ReferredObjects = {
  configMaps: new Map([["settings", { metadata: {}, data: { color: "red" } }]]),
  secrets: new Map([["keys", { metadata: {}, data: { key: Buffer.from("k").toString("base64") } }]]),
};

describe("the environment of a container", () => {
  it("is the inherited one with Services and volumes by default", () => {
    expect(environmentOf({})).toEqual({
      PATH: "/bin",
      DB_SERVICE_HOST: "127.96.0.1",
      ROUSE_VOLUME_MY_DATA: "/volumes/1",
    });
  });

  it("may refer to variables of Services, and override them", () => {
    const env = [
      { name: "URL", value: "sql://$(DB_SERVICE_HOST)" },
      { name: "DB_SERVICE_HOST", value: "mine" },
    ];
    expect(environmentOf({ env })).toMatchObject({ URL: "sql://127.96.0.1", DB_SERVICE_HOST: "mine" });
  });

  it.each([
    ["metadata.name", "nova"],
    ["metadata.namespace", "lab"],
    ["metadata.uid", "uid-1"],
    ["metadata.labels['example.com/tier']", "gold"],
    ["metadata.labels['none']", ""],
    ["metadata.labels['constructor']", ""],
    ["metadata.annotations['note']", "hi"],
    ["metadata.labels", 'example.com/tier="gold"\nteam="red"'],
    ["spec.nodeName", "local"],
    ["spec.serviceAccountName", "robot"],
    ["status.podIP", "127.64.0.1"],
    ["status.podIPs", "127.64.0.1"],
    ["status.hostIP", "127.0.0.1"],
  ])("knows the field %s", (fieldPath, value) => {
    expect(environmentOf({ env: [withField(fieldPath)] })).toMatchObject({ X: value });
  });

  it("refuses a field that the downward API does not have", () => {
    expect(() => environmentOf({ env: [withField("spec.volumes")] })).toThrow("unsupported fieldPath: spec.volumes");
  });

  it("expands references to earlier variables only", () => {
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "$(A)-$(C)-$(ROUSE_VOLUME_MY_DATA)" },
      { name: "C", value: "3" },
    ];
    expect(environmentOf({ env })).toMatchObject({ B: "1-$(C)-/volumes/1" });
  });

  it("may have a variable of any name, also a name that every JavaScript object inherits", () => {
    const configMaps = new Map([["odd", { metadata: {}, data: Object.fromEntries([["__proto__", "1"]]) }]]);
    const env = [{ name: "toString", value: "$(valueOf)" }];
    const environment = environmentOf(
      { envFrom: [{ configMapRef: { name: "odd" } }], env },
      { ...nothing, configMaps },
    );
    expect(Object.entries(environment)).toEqual(
      expect.arrayContaining([
        ["__proto__", "1"],
        ["toString", "$(valueOf)"],
      ]),
    );
  });

  it("includes whole ConfigMaps and Secrets, and env overrides them", () => {
    const container = {
      envFrom: [{ prefix: "S_", configMapRef: { name: "settings" } }, { secretRef: { name: "keys" } }],
      env: [{ name: "key", value: "mine" }],
    };
    expect(environmentOf(container, settings)).toMatchObject({ S_color: "red", key: "mine" });
  });

  it.each([
    {
      env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "no", key: "a" } } }],
      says: 'configmap "no" not found',
    },
    { env: [{ name: "X", valueFrom: { secretKeyRef: { name: "no", key: "a" } } }], says: 'secret "no" not found' },
    {
      env: [{ name: "X", valueFrom: { configMapKeyRef: { name: "settings", key: "no" } } }],
      says: "couldn't find key no in ConfigMap lab/settings",
    },
    {
      env: [{ name: "X", valueFrom: { secretKeyRef: { name: "keys", key: "no" } } }],
      says: "couldn't find key no in Secret lab/keys",
    },
  ])("is refused with: $says", ({ env, says }) => {
    const attempt = () => environmentOf({ env }, settings);
    expect(attempt).toThrow(StartRefused);
    expect(attempt).toThrow(says);
  });

  it("is refused when values that repeat others make it too long", () => {
    const doubled = Array.from({ length: 60 }, (_, i) => ({ name: `A${i + 1}`, value: `$(A${i})$(A${i})` }));
    const env = [{ name: "A0", value: "x".repeat(100) }, ...doubled];
    expect(() => environmentOf({ env })).toThrow(StartRefused);
    expect(() => environmentOf({ env })).toThrow("the variables have more than 2000 bytes");
  });

  it("is refused when a value is longer than Linux takes, before anything of it is replaced", () => {
    const env = (bytes: number) => [{ name: "A", value: "x".repeat(bytes) }];
    expect(environmentOf({ env: env(131_071) }, nothing, 1_000_000)).toHaveProperty("A");
    expect(() => environmentOf({ env: env(131_072) }, nothing, 1_000_000)).toThrow("131072 bytes");
  });

  it("is refused when the same object under many prefixes makes it too long", () => {
    const envFrom = Array.from({ length: 400 }, (_, i) => ({ prefix: `P${i}_`, secretRef: { name: "keys" } }));
    expect(() => environmentOf({ envFrom }, settings)).toThrow("the variables have more than 2000 bytes");
  });

  it("is as long as the budget, and not longer, in bytes of names and values", () => {
    const env = [{ name: "N", value: "\u00e4".repeat(50) }];
    const others = Object.entries(environmentOf({})).flat().join("").length;
    expect(environmentOf({ env }, nothing, others + 101)).toHaveProperty("N");
    expect(() => environmentOf({ env }, nothing, others + 100)).toThrow(StartRefused);
  });

  it("ignores missing optional objects", () => {
    const env = [{ name: "X", valueFrom: { secretKeyRef: { name: "no", key: "a", optional: true } } }];
    expect(environmentOf({ env, envFrom: [{ configMapRef: { name: "no", optional: true } }] })).not.toHaveProperty("X");
  });

  it.each([
    ["limits.memory", "1Mi", "64"],
    ["requests.cpu", "1m", "250"],
    ["requests.cpu", "0", "1"],
    ["requests.memory", undefined, "0"],
    ["limits.cpu", "100m", "11"],
  ])("has %s in units of %s", (resource, divisor, value) => {
    const resourceFieldRef = { resource, ...(divisor && { divisor }) };
    const resources = { limits: { memory: "64Mi", cpu: "1.1" }, requests: { cpu: "250m" } };
    expect(environmentOf({ resources, env: [{ name: "X", valueFrom: { resourceFieldRef } }] })).toMatchObject({
      X: value,
    });
  });

  it("lists the objects that it refers to", () => {
    const references = environmentReferences({
      name: "main",
      envFrom: [{ configMapRef: { name: "a" } }, { secretRef: { name: "b" } }],
      env: [
        { name: "X", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
        { name: "Y", valueFrom: { secretKeyRef: { name: "d", key: "k" } } },
      ],
    });
    expect(references).toEqual({ configMaps: new Set(["a", "c"]), secrets: new Set(["b", "d"]) });
  });
});

it("passes on the usual variables, and no credentials", () => {
  const ours = {
    PATH: "/bin",
    HOME: "/h",
    LC_ALL: "C",
    AWS_SECRET_ACCESS_KEY: "x",
    NODE_OPTIONS: "x",
    LANG: undefined,
  };
  expect(inheritedEnvironment(ours)).toEqual({ PATH: "/bin", HOME: "/h", LC_ALL: "C" });
});

it("calls a volume by its name in capitals", () => {
  expect(volumeVariable("my-data")).toBe("ROUSE_VOLUME_MY_DATA");
});
