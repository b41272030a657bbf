import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHashAnnotation } from "../../../api/rules/keys.ts";
import { nodeName } from "../../../cluster/network.ts";
import { clusterLayout } from "../e2e/support/components.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openTestNamespace } from "../support/workload.ts";
import { counter, firstPrinted, printed } from "./counter.ts";
import {
  agentIsReady,
  applyAsController,
  asController,
  imageFolder,
  pause,
  sentriesOf,
  startSigned,
  withoutAgent,
} from "./node-agent.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
  await agentIsReady(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The path of a tombstone, as this machine sees it. */
const tombstoneOf = (podUID: string): string => join(clusterLayout().var, "lib/rouse/tombstones", `${podUID}.json`);

/** A counting Pod that belongs to an object, and its MemoryImage. */
async function openPod() {
  const test = await openTestNamespace(cluster);
  await test.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owner" } } as never);
  const sandboxUID = await test.run("get", "configmap", "owner", "--output=jsonpath={.metadata.uid}");
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: sandboxUID, controller: true };
  const ownedCounter = (image?: string) => {
    const pod = counter(image);
    const annotations = { ...pod.metadata.annotations, [runHashAnnotation]: "h" };
    return { ...pod, metadata: { ...pod.metadata, annotations, ownerReferences: [owner] } };
  };
  const start = (image?: string) =>
    image
      ? startSigned(cluster, test.namespace, ownedCounter(image))
      : applyAsController(cluster, test.namespace, ownedCounter());
  await start();
  await eventually(async () => (await printed(test)).length > 10);
  const podUID = await test.run("get", "pod", "guest", "--output=jsonpath={.metadata.uid}");
  await applyAsController(cluster, test.namespace, {
    apiVersion: "hibernation.rouse.dev/v1alpha1",
    kind: "MemoryImage",
    metadata: { name: "g1" },
    spec: { sandboxUID, podName: "guest", podUID, nodeName, runHash: "h", timeoutSeconds: 20, stage: "Preflight" },
  });
  const status = async () => JSON.parse((await test.run("get", "memimg", "g1", "--output=jsonpath={.status}")) || "{}");
  const untilPhase = (phase: string) =>
    eventually(async () => {
      const found = await status();
      return found.phase === phase ? found : undefined;
    });
  const stage = '--patch={"spec":{"stage":"Capture"}}';
  const capture = () => test.run("patch", "memimg", "g1", "--type=merge", stage, asController);
  return { ...test, start, podUID, status, untilPhase, capture };
}

describe("the node agent", () => {
  it("captures a Pod that counts, and the next Pod goes on counting", async () => {
    await using test = await openPod();
    await eventually(async () => (await test.status()).preflight?.capturable === true);
    await test.capture();
    const captured = await test.untilPhase("Captured");
    expect(captured.bytes).toBeGreaterThan(100_000);
    const last = (await printed(test)).at(-1);
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await eventually(() => sentriesOf(test.podUID).length === 0);

    await test.start("g1");
    expect(await firstPrinted(test)).toEqual({ life: last?.life, count: (last?.count ?? 0) + 1 });
    const restored = await test.untilPhase("Restored");
    expect(restored.restore.outcome).toBe("Restored");
    const folder = imageFolder({ namespace: test.namespace, name: "guest" }, "g1");
    await eventually(() => !existsSync(folder)); // the verdict is told before the image goes
    await test.run("delete", "memimg", "g1");
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await eventually(() => !existsSync(join(folder, "..")));
    await eventually(() => !existsSync(tombstoneOf(test.podUID)));
  });

  it("keeps a captured Pod from a second life, also when its sentry ends before it is deleted", async () => {
    await using test = await openPod();
    await test.capture();
    await test.untilPhase("Captured");
    const last = (await printed(test)).at(-1);
    process.kill(Number(sentriesOf(test.podUID)[0]), "SIGKILL");
    const events = () => test.run("get", "events", "--output=jsonpath={.items[*].message}");
    await eventually(async () => (await events()).includes("is captured, so it must not start again"));
    expect(sentriesOf(test.podUID)).toEqual([]);
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await test.start("g1");
    expect(await firstPrinted(test)).toEqual({ life: last?.life, count: (last?.count ?? 0) + 1 });
    await test.untilPhase("Restored");
    await test.run("delete", "pod", "guest", "--timeout=60s");
  });

  it("lets a Pod go on whose capture another agent did not finish", async () => {
    await using test = await openPod();
    const tombstone = tombstoneOf(test.podUID);
    let last: Awaited<ReturnType<typeof printed>>[number] | undefined;
    {
      await using _noAgent = await withoutAgent(cluster);
      mkdirSync(dirname(tombstone), { recursive: true });
      const record = { namespace: test.namespace, pod: "guest", image: "g1", podUID: test.podUID, isFinal: false };
      writeFileSync(tombstone, JSON.stringify(record));
      await pause(test.podUID);
      last = (await printed(test)).at(-1);
    }
    expect((await test.untilPhase("Failed")).reason).toBe("Interrupted");
    await eventually(async () => ((await printed(test)).at(-1)?.count ?? 0) > (last?.count ?? 0) + 5);
    expect((await printed(test)).at(-1)?.life).toBe(last?.life);
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await eventually(() => sentriesOf(test.podUID).length === 0 && !existsSync(tombstone));
  });
});
