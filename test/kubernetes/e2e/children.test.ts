import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameHash } from "../../../api/rules/names.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { idleContainer } from "../extensions/support/pools.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const hash = "agents.x-k8s.io/sandbox-name-hash";
const adoptable = { "agents.x-k8s.io/adoptable": "true" };
const container = { ...idleContainer, ports: [{ containerPort: 8080, name: "http" }] };

async function open() {
  const test = await openSandboxes(cluster);
  const read = async (kind: string, name: string) =>
    JSON.parse((await test.run("get", kind, name, "--ignore-not-found", "--output=json")) || "null");
  const merge = (kind: string, name: string, patch: object) =>
    test.run("patch", kind, name, "--type=merge", `--patch=${JSON.stringify(patch)}`);
  return { ...test, read, merge };
}

describe("the Service of a sandbox", () => {
  it("is created if requested, repaired if changed, and removed if not requested", async () => {
    await using test = await open();
    await test.apply(sandboxNamed("served", { spec: { service: true }, container }));
    await test.untilAsleep("served");
    const service = await test.read("service", "served");
    const ports = [{ name: "http", port: 8080, protocol: "TCP", targetPort: 8080 }];
    expect(service.spec).toMatchObject({ clusterIP: "None", selector: { [hash]: nameHash("served") }, ports });
    await test.merge("service", "served", { spec: { selector: { [hash]: "bent" } } });
    await eventually(async () => (await test.read("service", "served")).spec.selector[hash] === nameHash("served"));
    await test.merge("sandbox", "served", { spec: { service: false } });
    await eventually(async () => (await test.read("service", "served")) === null);
    await eventually(async () => (await test.sandbox("served")).status?.service === undefined);
  });

  it("may exist before only if it permits the adoption", async () => {
    await using test = await open();
    const service = (name: string, labels: object) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, labels },
      spec: { clusterIP: "None", selector: { app: "mine" }, ports: [{ port: 80 }] },
    });
    await test.apply(service("willing", adoptable), service("theirs", {}));
    await test.apply(
      sandboxNamed("willing", { spec: { service: true }, container }),
      sandboxNamed("theirs", { spec: { service: true }, container }),
    );
    const owners = async (name: string) => (await test.read("service", name)).metadata.ownerReferences;
    await eventually(async () => (await owners("willing"))?.[0].kind === "Sandbox");
    expect((await test.read("service", "willing")).spec.ports).toMatchObject([{ port: 8080 }]);
    await eventually(async () => (await test.condition("theirs", "Ready"))?.reason === "ReconcilerError");
    expect(await owners("theirs")).toBeUndefined();
  });
});

it("adopts an existing volume claim if that permits the adoption", async () => {
  await using test = await open();
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
  const metadata = { name: "data-keeper", labels: adoptable };
  await test.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec } as {
    readonly metadata: object;
  });
  const volumes = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec }] };
  await test.apply(sandboxNamed("keeper", { spec: volumes, container }));
  await eventually(async () => (await test.read("pvc", "data-keeper")).metadata.ownerReferences?.[0].name === "keeper");
});

it("is deleted with its children at its shutdownTime if its policy is Delete", async () => {
  await using test = await open();
  const shutdownTime = new Date(systemClock.now().getTime() + 4_000).toISOString().replace(/\.\d+Z/, "Z");
  await test.apply(
    sandboxNamed("mortal", {
      spec: { operatingMode: "Running", shutdownTime, shutdownPolicy: "Delete" },
      container,
      pod: { terminationGracePeriodSeconds: 1 },
    }),
  );
  await test.run("wait", "sandbox/mortal", "--for=delete", "--timeout=60s");
  await eventually(async () => (await test.podOf("mortal")) === undefined);
});

it("updates the labels of a running Pod from its template", async () => {
  await using test = await open();
  const labelled = (labels: object) => ({ spec: { podTemplate: { metadata: { labels } } } });
  await test.apply(sandboxNamed("labelled", { spec: { operatingMode: "Running" }, container }));
  await test.run("wait", "sandbox/labelled", "--for=condition=Ready", "--timeout=60s");
  const label = async () => (await test.podOf("labelled"))?.metadata.labels?.["tier"];
  await test.merge("sandbox", "labelled", labelled({ tier: "gold" }));
  await eventually(async () => (await label()) === "gold");
  await test.merge("sandbox", "labelled", labelled({ tier: null }));
  await eventually(async () => (await label()) === undefined);
});
