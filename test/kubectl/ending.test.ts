import { describe, expect, it } from "vitest";
import { configMapType, podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { findBinaries } from "./kubectl.ts";
import { configManifest, podManifest, sandboxManifest } from "./manifests.ts";

const hello = { name: "hello", namespace: "default" };
const worker = { name: "worker", namespace: "default" };

/** A sandbox, and a ConfigMap that belongs to it. */
async function withDependent({ kubectl, client }: Cluster): Promise<void> {
  await kubectl.run("apply -f -", { input: sandboxManifest });
  const { uid } = (await client.get(sandboxType, hello)).metadata;
  const owner = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    name: "hello",
    uid,
    blockOwnerDeletion: true,
  };
  const metadata = { name: "dependent", namespace: "default", ownerReferences: [owner] };
  await client.create(configMapType, { metadata });
}

/** A Pod on a node: it stays until the node reports that it has ended. */
async function withRunningPod({ kubectl, client }: Cluster): Promise<void> {
  await kubectl.run("create -f -", { input: podManifest });
  await client.patch(podType, worker, { type: "merge", body: { spec: { nodeName: "laptop" } } });
}

describe.each(await findBinaries())("kubectl $version deletes and waits:", (binary) => {
  it("delete removes an object, and reports if there is none", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: configManifest });
    expect(await kubectl.run("delete -f -", { input: configManifest })).toMatch(/^configmap "settings" deleted/);
    expect(await kubectl.fail("delete configmap settings")).toContain('configmaps "settings" not found');
    expect(await kubectl.run("delete configmap settings --ignore-not-found")).toBe("");
  });

  it("delete --all removes all objects of a kind in a namespace", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("create configmap a");
    await kubectl.run("create configmap b");
    await kubectl.run("delete configmaps --all");
    expect(await kubectl.run("get configmaps -o name")).toBe("");
  });

  it("delete --cascade=foreground waits for the dependents", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await withDependent(cluster);
    await kubectl.run("delete sandbox hello --cascade=foreground");
    expect(await kubectl.run("get configmaps,sandboxes -o name")).toBe("");
  });

  it("delete --cascade=orphan leaves the dependents without an owner", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await withDependent(cluster);
    await kubectl.run("delete sandbox hello --cascade=orphan");
    const dependent = await client.get(configMapType, { name: "dependent", namespace: "default" });
    expect(dependent.metadata.ownerReferences ?? []).toEqual([]);
  });

  it("delete of a running Pod waits until its node has ended it", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await withRunningPod(cluster);
    await using deletion = kubectl.follow("delete pod worker --now");
    await deletion.until(/pod "worker" deleted/);
    expect((await client.get(podType, worker)).metadata.deletionGracePeriodSeconds).toBe(1);
    expect(await kubectl.run("get pod worker")).toMatch(/Terminating/);
    await client.delete(podType, worker, { gracePeriodSeconds: 0 });
    await deletion.ended();
  });

  it("delete --wait=false does not wait, and --force removes the Pod at once", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await withRunningPod(cluster);
    await kubectl.run("delete pod worker --wait=false");
    expect(await kubectl.run("get pod worker -o jsonpath={.metadata.deletionGracePeriodSeconds}")).toBe("30");
    await kubectl.run("delete pod worker --force --grace-period=0");
    expect(await kubectl.run("get pods -o name")).toBe("");
  });

  it("wait returns when the condition, the value or the deletion has come", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    const ready = kubectl.run("wait sandbox hello --for=condition=Ready --timeout=10s");
    const suspended = kubectl.run("wait sandbox hello --for=jsonpath={.spec.operatingMode}=Suspended --timeout=10s");
    const gone = kubectl.run("wait sandbox hello --for=delete --timeout=10s");
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const condition = { type: "Ready", status: "True", reason: "DependenciesReady", message: "", lastTransitionTime };
    const status = { conditions: [condition] };
    await client.patch(sandboxType, hello, { type: "merge", body: { status } }, { subresource: "status" });
    expect(await ready).toBe("sandbox.agents.x-k8s.io/hello condition met");
    await client.patch(sandboxType, hello, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
    expect(await suspended).toBe("sandbox.agents.x-k8s.io/hello condition met");
    await client.delete(sandboxType, hello);
    await gone;
  });

  it("wait fails after its timeout", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    expect(await kubectl.fail("wait sandbox hello --for=condition=Ready --timeout=1s")).toContain("timed out waiting");
  });
});
