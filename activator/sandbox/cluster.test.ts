import { describe, expect, it } from "vitest";
import { type Pod, podType } from "../../api/kinds/core.ts";
import type { OwnerReference, Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startCluster } from "./cluster.ts";
import { slimSandbox } from "./slim-sandbox.ts";

/** A cluster with the sandbox `default/nova`, and a way to add Pods that say whose they are. */
async function given() {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const sandbox = await client.create(sandboxType, aSandbox("nova"));
  const cluster = opened.use(startCluster({ client, clock: systemClock, log: silentLogger }));
  await cluster.firstSeen;
  const gone: { readonly podUid: string; readonly of: string | undefined }[] = [];
  cluster.onPodGone((podUid, owner) => gone.push({ podUid, of: owner?.metadata.name }));
  const closing = opened.move();
  let last = 0;
  return {
    ...{ sandbox, cluster, gone, client },
    /** Adds it, and waits until it is seen. */
    async addPod(name: string, owner: Partial<OwnerReference>, namespace = "default"): Promise<Stored<Pod>> {
      last += 1;
      const podIP = `10.0.0.${last}`;
      const ownerReferences = [{ ...byController(sandbox), ...owner }];
      // The garbage collector removes what names an owner that is not there; a finalizer holds it up.
      const metadata = { name, namespace, ownerReferences, finalizers: ["example.com/stays"] };
      const spec = { containers: [{ name: "main", image: "program" }] };
      await client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec });
      const body = { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] } };
      const status = { subresource: "status" } as const;
      const pod = await client.patch(podType, { namespace, name }, { type: "merge", body }, status);
      await eventually(() => cluster.podsAt(podIP).length === 1);
      return pod;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function byController({ metadata: { name, uid } }: Stored<Sandbox>): OwnerReference {
  return { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
}

describe("the Pod of a sandbox", () => {
  it.each([
    { why: "merely lists it among its owners", owner: { controller: false } },
    { why: "says nothing of a controller", owner: { controller: undefined } },
    { why: "names another kind by its UID", owner: { kind: "Workshop" } },
    { why: "names another group by its UID", owner: { apiVersion: "example.com/v1" } },
    { why: "is of another namespace", owner: {}, namespace: "kube-system" },
  ])("is no Pod that $why", async ({ owner, namespace }) => {
    await using world = await given();
    await world.addPod("helper", owner as Partial<OwnerReference>, namespace);
    expect(world.cluster.podOf(world.sandbox)).toBeUndefined();
    const own = await world.addPod("nova", {});
    expect(world.cluster.podOf(world.sandbox)?.metadata.uid).toBe(own.metadata.uid);
  });

  it("stays the same when Pods are added or change later", async () => {
    await using world = await given();
    const own = await world.addPod("nova", {});
    await world.addPod("another", {});
    const body = { metadata: { annotations: { any: "change" } } };
    const { metadata } = await world.client.patch(
      podType,
      { namespace: "default", name: "nova" },
      { type: "merge", body },
    );
    const seenVersion = () => world.cluster.podsAt("10.0.0.1")[0]?.metadata.resourceVersion;
    await eventually(() => seenVersion() === metadata.resourceVersion);
    expect(world.cluster.podOf(world.sandbox)?.metadata.uid).toBe(own.metadata.uid);
  });
});

it("changes when another Pod is preferred, and when it is given to another owner", async () => {
  await using world = await given();
  const { client, cluster, sandbox } = world;
  const first = await world.addPod("nova", {});
  const second = await world.addPod("another", {});
  expect(cluster.podOf(sandbox)?.metadata.uid).toBe(first.metadata.uid);
  await client.delete(podType, { namespace: "default", name: "nova" });
  await eventually(() => cluster.podOf(sandbox)?.metadata.uid === second.metadata.uid);
  const body = { metadata: { ownerReferences: null } };
  await client.patch(podType, { namespace: "default", name: "another" }, { type: "merge", body });
  await eventually(() => cluster.podOf(sandbox)?.metadata.deletionTimestamp !== undefined);
});

it("a Pod that no sandbox controls is not followed: of other Pods a cluster may have very many", async () => {
  await using world = await given();
  const { cluster } = world;
  const lost: string[] = [];
  cluster.onAddressLost(({ ip }) => lost.push(ip));
  const other = await world.addPod("other", { controller: false });
  expect(cluster.podSeenMs(other.metadata.uid)).toBeUndefined();
  expect(cluster.hasAddress({ podUid: other.metadata.uid, ip: "10.0.0.1" })).toBe(false);
  await world.client.delete(podType, { namespace: "default", name: "other" });
  const own = await world.addPod("nova", {});
  expect(cluster.podSeenMs(own.metadata.uid)).toBeDefined();
  expect([lost, world.gone]).toEqual([[], []]);
});

it("a Pod that is gone is reported with its sandbox, and a Pod of another namespace without", async () => {
  await using world = await given();
  const own = await world.addPod("nova", {});
  const forged = await world.addPod("forged", {}, "kube-system");
  const end = async ({ metadata: { name, namespace, uid } }: Stored<Pod>) => {
    const body = { metadata: { finalizers: null } };
    await world.client.patch(podType, { namespace, name }, { type: "merge", body });
    await world.client.delete(podType, { namespace, name }).catch(() => {});
    await eventually(() => world.gone.some(({ podUid }) => podUid === uid));
  };
  const lost: string[] = [];
  world.cluster.onAddressLost(({ ip }) => lost.push(ip));
  await end(forged);
  await end(own);
  expect(lost).toEqual(["10.0.0.2", "10.0.0.1"]);
  expect(world.gone).toEqual([
    { podUid: forged.metadata.uid, of: undefined },
    { podUid: own.metadata.uid, of: "nova" },
  ]);
});

describe("an address of a Pod", () => {
  const set = async ({ client }: Pick<Awaited<ReturnType<typeof given>>, "client">, status: Pod["status"]) => {
    const options = { subresource: "status" } as const;
    await client.patch(podType, { namespace: "default", name: "nova" }, { type: "merge", body: { status } }, options);
  };

  it.each(["Failed", "Succeeded"] as const)("is lost once the Pod has another, and when it has %s", async (phase) => {
    await using world = await given();
    const { cluster } = world;
    const { metadata } = await world.addPod("nova", {});
    const lost: string[] = [];
    cluster.onAddressLost(({ podUid, ip }) => lost.push(`${podUid === metadata.uid} ${ip}`));
    const has = (ip: string) => cluster.hasAddress({ podUid: metadata.uid, ip });
    expect([has("10.0.0.1"), has("10.0.0.9")]).toEqual([true, false]);
    await set(world, { podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] });
    await eventually(() => lost.length > 0);
    expect([has("10.0.0.1"), has("10.0.0.9")]).toEqual([false, true]);
    await set(world, { phase });
    await eventually(() => lost.length > 1);
    expect(lost).toEqual(["true 10.0.0.1", "true 10.0.0.9"]);
    expect(has("10.0.0.9")).toBe(false);
    expect(cluster.podSeenMs(metadata.uid)).toBeDefined();
  });

  it("begins the youth of the Pod again", async () => {
    await using world = await given();
    const { metadata } = await world.addPod("nova", {});
    const addressedMs = () => world.cluster.sightsOf(metadata.uid)?.addressedMs ?? 0;
    const before = addressedMs();
    await set(world, { message: "no other address" });
    await eventually(() => world.cluster.podOf(world.sandbox)?.status?.message !== undefined);
    expect(addressedMs()).toBe(before);
    await set(world, { podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] });
    await eventually(() => world.cluster.hasAddress({ podUid: metadata.uid, ip: "10.0.0.9" }));
    expect(addressedMs()).toBeGreaterThan(before);
  });
});

it("keeps of a sandbox only what the activator reads", async () => {
  await using world = await given();
  expect(world.cluster.sandbox("default", "nova")).toEqual(slimSandbox(world.sandbox));
  expect(slimSandbox(world.sandbox)).not.toEqual(world.sandbox);
});

it("knows which namespaces have sandboxes", async () => {
  await using world = await given();
  const { cluster, client } = world;
  await client.create(sandboxType, aSandbox("vega"));
  await eventually(() => cluster.sandbox("default", "vega"));
  await client.delete(sandboxType, { namespace: "default", name: "nova" });
  await eventually(() => !cluster.sandbox("default", "nova"));
  expect([cluster.hasSandboxes("default"), cluster.hasSandboxes("kube-system")]).toEqual([true, false]);
  await client.delete(sandboxType, { namespace: "default", name: "vega" });
  await eventually(() => !cluster.hasSandboxes("default"));
});
