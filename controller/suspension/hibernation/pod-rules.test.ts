import { describe, expect, it } from "vitest";
import type { Container, PodSpec } from "../../../api/kinds/pod.ts";
import { partForRules, refusalsOfSpec } from "./pod-rules.ts";

const main = { name: "main", image: "busybox" };
const plain: PodSpec = { containers: [main, { name: "other" }], runtimeClassName: "gvisor" };
const reasonsOf = (spec: PodSpec) => refusalsOfSpec(spec).map(({ reason }) => reason);

const withVolume = (kind: object): PodSpec => ({
  ...plain,
  volumes: [
    { name: "data", hostPath: { path: "/data" } },
    { name: "other", ...kind },
  ],
});

const variable = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const uid = variable("POD_UID", "metadata.uid");
const network = variable("NET", "metadata.annotations['k8s.v1.cni.cncf.io/network-status']");

const identities: readonly (readonly [string, Partial<Container>])[] = [
  ["with the UID of the Pod in its arguments", { args: ["--id=$(POD_UID)"], env: [uid] }],
  ["with the UID behind a dollar and another name", { args: ["$$$(OTHER)$()$(POD_UID)"], env: [uid] }],
  ["with an annotation of the Pod in its command", { command: ["run", "$(NET)"], env: [network] }],
  [
    "with the UID in a variable in its arguments",
    { args: ["$(ID)"], env: [uid, { name: "ID", value: "a-$(POD_UID)" }] },
  ],
  [
    "with a folder of its own in a volume",
    { env: [uid], volumeMounts: [{ name: "data", mountPath: "/data", subPathExpr: "$(POD_UID)" }] },
  ],
];

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
  ...["emptyDir", "ephemeral", "csi", "gitRepo"].map((kind) => ({
    ...{ what: `with a volume of type ${kind}`, spec: withVolume({ [kind]: {} }), reason: "EphemeralVolumes" },
  })),
  { what: "with a volume of the default type", spec: withVolume({}), reason: "EphemeralVolumes" },
  ...["image", "nfs", "ofTheFuture"].map((kind) => ({
    ...{ what: `with a volume of type ${kind}`, spec: withVolume({ [kind]: {} }), reason: "UnknownVolumes" },
  })),
  ...identities.map(([what, container]) => ({
    ...{ what, spec: { ...plain, containers: [main, { ...main, ...container }] }, reason: "PodIdentity" },
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

  it("can be kept with volumes whose files the next Pod has, too", () => {
    const kinds = ["persistentVolumeClaim", "hostPath", "configMap", "secret", "projected", "downwardAPI"];
    for (const kind of kinds) expect(reasonsOf(withVolume({ [kind]: {}, emptyDir: undefined })), kind).toEqual([]);
  });

  it.each<Partial<Container>>([
    { env: [uid], args: ["sh", "-c", "echo $POD_UID"] },
    { env: [uid], args: ["$$(POD_UID)", "$$$$(POD_UID)", "$(OTHER)", "$(POD_UID"] },
    { env: [uid, { name: "POD_UID", value: "fixed" }], args: ["$(POD_UID)"] },
    { env: [{ name: "ID", value: "$(POD_UID)" }, uid], args: ["$(ID)"] },
    { env: [variable("NAME", "metadata.name"), variable("NODE", "spec.nodeName")], args: ["$(NAME)", "$(NODE)"] },
  ])("can be kept if its arguments are the same in the next Pod: %o", (container) => {
    expect(reasonsOf({ ...plain, containers: [{ ...main, ...container }] })).toEqual([]);
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
    const env = [{ name: "A", value: bulk }, { name: bulk, valueFrom: address }, uid];
    const many = Array.from({ length: 50 }, (_, at) => ({
      ...{ name: `c-${at}`, env, args: ["$(POD_UID)", bulk], lifecycle: { postStart: {} } },
    }));
    const limits = Object.fromEntries(many.map(({ name }) => [`example.com/${name}`, 1]));
    const devices = many.map((one) => ({
      ...one,
      resources: { limits },
      volumeDevices: many.map(({ name }) => ({ name })),
    }));
    const volumes = many.map(({ name }) => ({ name: name + bulk, emptyDir: {}, image: { reference: bulk } }));
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
