import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import type { MemoryImage, MemoryImageStatus } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { imageOf, type LabPod, labStore, NodeLab, podOf } from "../../test/support/labs/node-lab.ts";
import { Agent } from "./agent.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import type { View } from "./observe.ts";
import { openDoors } from "./start-agent.ts";

const neverAborted = new AbortController().signal;
const stored = { uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };

/** An API with several Pods that are all to be captured now. */
function apiOf(lab: NodeLab, labPods: readonly LabPod[], namespaceOf: (index: number) => string) {
  const images = new Map<string, Stored<MemoryImage>>();
  const gone = new Set<string>();
  const users = new Map<string, Stored<Pod>>();
  const pods = labPods.map(({ uid }, index): Stored<Pod> => {
    const pod = podOf(lab, uid);
    images.set(`g${index}`, {
      ...imageOf(lab, uid, { podName: `guest${index}`, stage: "Capture" }),
      ...{ metadata: { ...stored, name: `g${index}`, namespace: namespaceOf(index) }, status: { phase: "Capturing" } },
    });
    return {
      ...pod,
      metadata: { ...stored, ...pod.metadata, name: `guest${index}`, namespace: namespaceOf(index), uid },
    };
  });
  const view: View = {
    nodeName: lab.nodeName,
    memoryImage: ({ image }) => images.get(image),
    podByUid: (uid) => pods.find(({ metadata }) => metadata.uid === uid && !gone.has(uid)),
    podByName: (_, name) =>
      users.get(name) ?? pods.find(({ metadata: { name: own, uid } }) => own === name && !gone.has(uid)),
  };
  const report = async (image: Stored<MemoryImage>, status: MemoryImageStatus) => {
    images.set(image.metadata.name, { ...image, status });
  };
  return { images, gone, users, view, report };
}

/** A node that has room for so many images and a half. `namespaces`: of each Pod; the others are in `default`. */
async function openNode(count: number, rooms: number, { namespaces = [] as string[], maxNamespacePercent = 100 } = {}) {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(new NodeLab());
  const namespaceOf = (index: number) => namespaces[index] ?? "default";
  const pods = await Promise.all(Array.from({ length: count }, () => lab.startPod()));
  const doors = openDoors({ runsc: lab.runsc, storeRoot: lab.storeRoot, clock: systemClock });
  const { images, gone, users, ...api } = apiOf(lab, pods, namespaceOf);
  const one = (await doors.sandboxes.ofPod(pods[0]?.uid ?? ""))?.memoryBytes ?? expect.unreachable();
  const limits = {
    maxStoreBytes: Math.round((one + 16 * 1_048_576) * (rooms + 0.5)),
    minFreeBytes: 0,
    maxNamespacePercent,
  };
  const registry = new Registry();
  const metrics = new AgentMetrics(registry, { frozen: () => 0, used: async () => 0 });
  const parts = { log: silentLogger, storeRoot: lab.storeRoot, identity: labStore };
  const agent = new Agent({ doors, metrics, limits, ...api, ...parts });
  const pass = (index: number) => agent.pass(`${namespaceOf(index)}/guest${index}/g${index}`, neverAborted);
  const reads = vi.spyOn(doors.store, "read");
  const opened = stack.move();
  return {
    ...{ images, pass },
    /** The images that are read during these passes. */
    async readDuring(passes: () => Promise<unknown>) {
      reads.mockClear();
      await passes();
      return [...new Set(reads.mock.calls.map(([{ image }]) => image))];
    },
    count,
    statusOf: (index: number) => images.get(`g${index}`)?.status,
    /** A Pod that is to be restored from the image is there. */
    isAskedFor(index: number) {
      const annotations = { [memoryImageAnnotation]: `g${index}` };
      const metadata = { ...stored, name: `guest${index}`, namespace: namespaceOf(index), uid: "next", annotations };
      users.set(metadata.name, { metadata, spec: { containers: [] } });
    },
    /** Captures a Pod, and has it deleted. Its image is as large as the limit expects. */
    async putToSleep(index: number, capturedAt: string) {
      await pass(index);
      await pass(index);
      const folder = lab.path("images", namespaceOf(index), `guest${index}`, `g${index}`);
      const description = JSON.parse(readFileSync(`${folder}/image.json`, "utf8"));
      truncateSync(`${folder}/pages.img`, one + 16 * 1_048_576);
      writeFileSync(`${folder}/image.json`, JSON.stringify({ ...description, bytes: one + 16 * 1_048_576 }));
      const image = images.get(`g${index}`) ?? expect.unreachable();
      images.set(`g${index}`, { ...image, status: { ...image.status, capturedAt } });
      gone.add(pods[index]?.uid ?? "");
    },
    async evictions() {
      return (await registry.metrics()).match(/^rouse_node_evictions_total (\d+)$/m)?.[1];
    },
    async whole() {
      const keys = await doors.store.keys();
      const read = await Promise.all(keys.map(async (key) => ({ key, ...(await doors.store.read(key)) })));
      return read.flatMap(({ key, image }) => (image ? [key.image] : []));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Node = Awaited<ReturnType<typeof openNode>>;

/** Passes over all images, as the workers make them, until this one is as wanted. */
async function passUntil({ count, pass, statusOf }: Node, index: number, phase: string) {
  for (let round = 0; round < 50 && statusOf(index)?.phase !== phase; round += 1) {
    for (let each = 0; each < count; each += 1) await pass(each);
  }
  expect(statusOf(index)?.phase).toBe(phase);
}

it("captures that begin together do not take the same room", async () => {
  await using node = await openNode(4, 1);
  await Promise.all([0, 1, 2, 3].map((index) => node.pass(index)));
  expect(await node.whole()).toHaveLength(1);
  const refused = [...node.images.values()].filter(({ status }) => status?.reason === "StoreFull");
  expect(refused).toHaveLength(3);
});

it("the oldest image makes room for a new one, and its status says so before its files go", async () => {
  await using node = await openNode(3, 2);
  await node.putToSleep(0, "2026-01-02T00:00:00Z");
  await node.putToSleep(1, "2026-01-01T00:00:00Z");
  await node.pass(2);
  expect(node.statusOf(1)).toMatchObject({ phase: "Lost", reason: "Evicted" });
  expect([...(await node.whole())].sort()).toEqual(["g0", "g1"]);
  await passUntil(node, 2, "Captured");
  expect([...(await node.whole())].sort()).toEqual(["g0", "g2"]);
  expect(node.statusOf(0)?.phase).toBe("Captured");
  expect(await node.evictions()).toBe("1");
});

it("an image that a Pod asks for makes no room: the capture fails", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  node.isAskedFor(0);
  await node.pass(1);
  expect(node.statusOf(1)).toMatchObject({ phase: "Failed", reason: "StoreFull" });
  expect(await node.whole()).toEqual(["g0"]);
});

it("a preflight counts the room that other images may make, and takes none of it", async () => {
  await using node = await openNode(2, 1);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  const image = node.images.get("g1") ?? expect.unreachable();
  node.images.set("g1", { ...image, spec: { ...image.spec, stage: "Preflight" }, status: {} });
  await node.pass(1);
  expect(node.statusOf(1)?.preflight).toEqual({ capturable: true });
  expect(node.statusOf(0)?.phase).toBe("Captured");
});

it("a pass looks at other images only if there is no room", async () => {
  await using node = await openNode(3, 2);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  const toPreflight = (index: number) => {
    const image = node.images.get(`g${index}`) ?? expect.unreachable();
    node.images.set(`g${index}`, { ...image, spec: { ...image.spec, stage: "Preflight" }, status: {} });
  };
  toPreflight(1);
  expect(await node.readDuring(() => node.pass(1))).toEqual(["g1"]);
  expect(node.statusOf(1)?.preflight).toEqual({ capturable: true });
  const one = node.images.get("g1") ?? expect.unreachable();
  node.images.set("g1", { ...one, spec: { ...one.spec, stage: "Capture" }, status: { phase: "Capturing" } });
  await node.putToSleep(1, "2026-01-02T00:00:00Z");
  toPreflight(2);
  expect([...(await node.readDuring(() => node.pass(2)))].sort()).toEqual(["g0", "g1", "g2"]);
});

const shared = { namespaces: ["b", "a", "a", "a"], maxNamespacePercent: 50 };

it("beyond the share of its namespace, a capture removes the oldest image of its own, and of no other", async () => {
  await using node = await openNode(4, 4, shared);
  for (const index of [0, 1, 2]) await node.putToSleep(index, `2026-01-0${index + 1}T00:00:00Z`);
  await node.pass(3);
  expect(node.statusOf(1)).toMatchObject({ phase: "Lost", reason: "Evicted" });
  await passUntil(node, 3, "Captured");
  expect([...(await node.whole())].sort()).toEqual(["g0", "g2", "g3"]);
  expect(await node.evictions()).toBe("1");
});

it("a capture that its namespace has no share for fails, and no image of another namespace goes", async () => {
  await using node = await openNode(3, 4, { ...shared, maxNamespacePercent: 24 });
  for (const index of [0, 1]) await node.putToSleep(index, "2026-01-01T00:00:00Z");
  node.isAskedFor(1);
  await node.pass(2);
  expect(node.statusOf(2)).toMatchObject({ phase: "Failed", reason: "NamespaceFull" });
  expect([...(await node.whole())].sort()).toEqual(["g0", "g1"]);
  expect(await node.evictions()).toBe("0");
});

it("captures of one namespace that begin together do not take the same share", async () => {
  await using node = await openNode(4, 4, { ...shared, namespaces: ["a", "a", "a", "b"] });
  await Promise.all([0, 1, 2, 3].map((index) => node.pass(index)));
  expect([0, 1, 2].filter((index) => node.statusOf(index)?.reason === "NamespaceFull")).toHaveLength(1);
  expect(await node.whole()).toContain("g3");
});
