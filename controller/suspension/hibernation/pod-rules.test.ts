import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../api/kinds/pod.ts";
import { partForRules, refusalsOfSpec } from "./pod-rules.ts";

const main = { name: "main", image: "busybox" };
const plain: PodSpec = { containers: [main, { name: "other" }], runtimeClassName: "gvisor" };
const reasonsOf = (spec: PodSpec) => refusalsOfSpec(spec).map(({ reason }) => reason);

const refused: readonly { readonly what: string; readonly spec: PodSpec; readonly reason: string }[] = [
  { what: "without a runtime class", spec: { containers: [main] }, reason: "RuntimeClassNotSet" },
  { what: "with an empty runtime class", spec: { ...plain, runtimeClassName: "" }, reason: "RuntimeClassNotSet" },
  { what: "on the network of its node", spec: { ...plain, hostNetwork: true }, reason: "HostNetwork" },
  { what: "with an init container", spec: { ...plain, initContainers: [main, main] }, reason: "InitContainers" },
  {
    what: "with a sidecar container",
    spec: { ...plain, initContainers: [{ ...main, restartPolicy: "Always" }] },
    reason: "InitContainers",
  },
  {
    what: "that kubectl debug has been used on",
    spec: { ...plain, ephemeralContainers: [main] },
    reason: "EphemeralContainers",
  },
  {
    what: "with a postStart hook in its second container",
    spec: { ...plain, containers: [main, { name: "hooked", lifecycle: { postStart: {} } }] },
    reason: "PostStartHook",
  },
  {
    what: "with a GPU",
    spec: { ...plain, containers: [{ ...main, resources: { limits: { cpu: 1, "nvidia.com/gpu": "1" } } }] },
    reason: "Devices",
  },
  {
    what: "with a raw volume",
    spec: { ...plain, containers: [{ ...main, volumeDevices: [{ name: "disk" }] }] },
    reason: "Devices",
  },
  ...(["emptyDir", "ephemeral", "csi"] as const).map((kind) => ({
    what: `with a volume of type ${kind}`,
    spec: {
      ...plain,
      volumes: [
        { name: "data", hostPath: { path: "/data" } },
        { name: "scratch", [kind]: {} },
      ],
    },
    reason: "EphemeralVolumes",
  })),
  ...["status.podIP", "status.podIPs"].map((fieldPath) => ({
    what: `with ${fieldPath} in an environment variable`,
    spec: { ...plain, containers: [main, { ...main, env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath } } }] }] },
    reason: "PodAddress",
  })),
  { what: "with a resource claim", spec: { ...plain, resourceClaims: [{ name: "gpu" }] }, reason: "Devices" },
];

describe("the memory of a Pod", () => {
  it("can be kept if no rule speaks against it", () => {
    const resources = { limits: { cpu: 1, memory: "1Gi", "hugepages-2Mi": "4Mi" }, requests: { cpu: "500m" } };
    const stopped = { lifecycle: { preStop: {} } };
    expect(reasonsOf({ ...plain, containers: [{ ...main, resources, ...stopped }], initContainers: [] })).toEqual([]);
  });

  it.each(refused)("cannot be kept $what", ({ spec, reason }) => {
    expect(reasonsOf(spec)).toEqual([reason]);
  });

  it("cannot be kept for several reasons at once", () => {
    const spec = { ...plain, hostNetwork: true, runtimeClassName: "", ephemeralContainers: [main] };
    expect(reasonsOf(spec)).toEqual(["RuntimeClassNotSet", "HostNetwork", "EphemeralContainers"]);
  });
});

describe("the part of a Pod that is kept for the rules", () => {
  it.each(refused)("says the same of a Pod $what", ({ spec, reason }) => {
    expect(reasonsOf({ containers: [], ...partForRules(spec) })).toEqual([reason]);
  });

  it("has only the runtime class of a Pod that no rule refuses", () => {
    expect(partForRules(plain)).toEqual({ runtimeClassName: "gvisor" });
  });

  it("has one item of each list, and nothing that a tenant may make large", () => {
    const bulk = "x".repeat(10_000);
    const address = { fieldRef: { fieldPath: "status.podIP" } };
    const env = [
      { name: "A", value: bulk },
      { name: bulk, valueFrom: address },
    ];
    const many = Array.from({ length: 50 }, (_, at) => ({ name: `c-${at}`, env, lifecycle: { postStart: {} } }));
    const limits = Object.fromEntries(many.map(({ name }) => [`example.com/${name}`, 1]));
    const devices = many.map((one) => ({
      ...one,
      resources: { limits },
      volumeDevices: many.map(({ name }) => ({ name })),
    }));
    const volumes = many.map(({ name }) => ({ name: name + bulk, emptyDir: {} }));
    const spec = {
      containers: devices,
      initContainers: many,
      ephemeralContainers: many,
      resourceClaims: many,
      volumes,
    };
    expect(JSON.stringify(partForRules(spec)).length).toBeLessThan(1_200);
  });
});
