import { describe, expect, it } from "vitest";
import { namespaceType, nodeType, type Pod, podType } from "../../../api/kinds/core.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { startOrphanCollector } from "./orphaned-pods.ts";

const namespace = "default";

async function openLab() {
  const api = await openMemoryApi();
  const { client } = api;
  const informer = startInformer({ client, clock: systemClock, log: silentLogger, type: podType, indexes: {} });
  await informer.synced;
  return {
    client,
    pods: informer.store,
    async [Symbol.asyncDispose]() {
      await informer[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

const createPod = (client: KubeClient, name: string, nodeName: string, inNamespace = namespace) =>
  client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace: inNamespace, name } },
    spec: { nodeName, containers: [{ name: "main", image: "node" }] },
  });

const seen = (pods: Store<Pod>, count: number) => expect.poll(() => pods.size, { timeout: 10_000 }).toBe(count);

describe("a Pod whose node does not exist", () => {
  it("is removed after 40 s, and its namespace with it", async () => {
    await using lab = await openLab();
    const { client, pods } = lab;
    const clock = new FakeClock();
    await client.create(namespaceType, { apiVersion: "v1", kind: "Namespace", metadata: { name: "short" } });
    await createPod(client, "lost", "nowhere", "short");
    await seen(pods, 1);
    await client.delete(namespaceType, { name: "short" });
    const terminating = () => client.get(podType, { namespace: "short", name: "lost" });
    await expect.poll(async () => (await terminating()).metadata.deletionTimestamp).toBeDefined();

    await using _ = startOrphanCollector({ client, clock, log: silentLogger, pods, nodeName: "local" });
    const namespaces = async () => {
      await clock.advance(20_000);
      return (await client.list(namespaceType)).items.map(({ metadata }) => metadata.name);
    };
    await expect.poll(namespaces, { timeout: 20_000 }).not.toContain("short");
    expect(clock.ticksMs()).toBeGreaterThanOrEqual(60_000);
  });

  it("is told as failed before it is removed, also if something else keeps it", async () => {
    await using lab = await openLab();
    const { client, pods } = lab;
    const clock = new FakeClock();
    const metadata = { namespace, name: "kept", finalizers: ["example.com/keep"] };
    const spec = { nodeName: "nowhere", containers: [{ name: "main", image: "node" }] };
    await client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec });
    await seen(pods, 1);
    await using _ = startOrphanCollector({ client, clock, log: silentLogger, pods, nodeName: "local" });
    const pod = async () => {
      await clock.advance(20_000);
      return client.get(podType, { namespace, name: "kept" });
    };
    await expect.poll(async () => (await pod()).metadata.deletionTimestamp, { timeout: 20_000 }).toBeDefined();
    const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC" };
    expect((await pod()).status).toMatchObject({ phase: "Failed", conditions: [expect.objectContaining(condition)] });
  });
});

describe("the collector of orphaned Pods", () => {
  it("leaves Pods alone that have no node, this one, or one that exists by then", async () => {
    await using lab = await openLab();
    const { client, pods } = lab;
    const clock = new FakeClock();
    await createPod(client, "here", "local");
    await createPod(client, "elsewhere", "other");
    await createPod(client, "lost", "nowhere");
    await client.create(podType, {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace, name: "unbound" } },
      spec: { containers: [{ name: "main", image: "node" }] },
    });
    await seen(pods, 4);
    await client.create(nodeType, { apiVersion: "v1", kind: "Node", metadata: { name: "other" } });
    await using _ = startOrphanCollector({ client, clock, log: silentLogger, pods, nodeName: "local" });
    const names = async () => {
      await clock.advance(20_000);
      return (await client.list(podType, { namespace })).items.map(({ metadata }) => metadata.name);
    };
    await expect.poll(names, { timeout: 20_000 }).toEqual(["elsewhere", "here", "unbound"]);
  });
});
