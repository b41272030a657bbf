import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, vi } from "vitest";
import type { MemoryImage, MemoryImageStatus } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, usedByAnnotation } from "../../../api/rules/keys.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { Agent } from "../../../node/agent/agent.ts";
import { AgentMetrics } from "../../../node/agent/agent-metrics.ts";
import { Files } from "../../../node/agent/doors/files.ts";
import type { View } from "../../../node/agent/observe.ts";
import { openDoors } from "../../../node/agent/start-agent.ts";
import { imageOf, type LabPod, labStore, NodeLab, podOf } from "./node-lab.ts";

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
  const coming = new Map<string, Stored<Pod> | Error>();
  const readPod = async ({ name }: { readonly name: string }) => {
    const pod = coming.get(name) ?? view.podByName("", name);
    if (pod instanceof Error) throw pod;
    return pod;
  };
  return { images, gone, users, coming, view, report, readPod };
}

interface NodeOptions {
  readonly namespaces?: readonly string[];
  readonly maxNamespacePercent?: number;
  readonly minFreeBytes?: number;
  readonly files?: Files;
  readonly clock?: Clock;
}

/** A node that has room for so many images and a half. `namespaces`: of each Pod; the others are in `default`. */
export async function openNode(count: number, rooms: number, options: NodeOptions = {}) {
  const {
    namespaces = [],
    maxNamespacePercent = 100,
    minFreeBytes = 0,
    files = new Files(),
    clock = systemClock,
  } = options;
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(new NodeLab());
  const namespaceOf = (index: number) => namespaces[index] ?? "default";
  const pods = await Promise.all(Array.from({ length: count }, () => lab.startPod()));
  const doors = openDoors({ runsc: lab.runsc, storeRoot: lab.storeRoot, clock, files });
  const { images, gone, users, coming, ...api } = apiOf(lab, pods, namespaceOf);
  const first = (await doors.sandboxes.ofPod(pods[0]?.uid ?? "")) ?? expect.unreachable();
  const one = (await doors.sandboxes.memoryBytesOf(first)) ?? expect.unreachable();
  const limits = {
    maxStoreBytes: Math.round((one + 16 * 1_048_576) * (rooms + 0.5)),
    minFreeBytes,
    maxNamespacePercent,
  };
  const registry = new Registry();
  const metrics = new AgentMetrics(registry, { frozen: () => 0, used: () => 0 });
  const parts = { log: silentLogger, storeRoot: lab.storeRoot, identity: labStore };
  const agent = new Agent({ doors, metrics, limits, ...api, ...parts });
  const pass = (index: number, mayCapture = true) =>
    agent.pass(`${namespaceOf(index)}/guest${index}/g${index}`, neverAborted, mayCapture);
  const reads = vi.spyOn(doors.store, "read");
  const sizes = vi.spyOn(files, "bytesOf");
  const opened = stack.move();
  return {
    ...{ lab, images, pass, pods },
    /** The images that are read during these passes. */
    async readDuring(passes: () => Promise<unknown>) {
      reads.mockClear();
      await passes();
      return [...new Set(reads.mock.calls.map(([{ image }]) => image))];
    },
    /** The files whose sizes are looked at during these passes. */
    async sizesDuring(passes: () => Promise<unknown>) {
      sizes.mockClear();
      await passes();
      return sizes.mock.calls.map(([path]) => path);
    },
    count,
    statusOf: (index: number) => images.get(`g${index}`)?.status,
    /** A Pod that is to be restored from the image is there. */
    isAskedFor(index: number, uid = "next") {
      const annotations = { [memoryImageAnnotation]: `g${index}` };
      const metadata = { ...stored, name: `guest${index}`, namespace: namespaceOf(index), uid, annotations };
      users.set(metadata.name, { metadata, spec: { containers: [] } });
    },
    /** The controller has promised the image to a Pod, which the API has so: it has no node yet, so the watch does not show it. */
    isPromised(index: number, uid: string, now: "there" | "gone" | "unreachable") {
      const image = images.get(`g${index}`) ?? expect.unreachable();
      const metadata = { ...image.metadata, annotations: { [usedByAnnotation]: uid } };
      images.set(`g${index}`, { ...image, metadata });
      const pod = { metadata: { ...stored, name: `guest${index}`, namespace: namespaceOf(index), uid } };
      if (now !== "gone") coming.set(`guest${index}`, now === "there" ? pod : new Error("unreachable"));
    },
    /** What the limit expects of an image. */
    imageBytes: one + 16 * 1_048_576,
    /** Captures a Pod, and has it deleted. Its image is as large as the limit expects, or larger. */
    async putToSleep(index: number, capturedAt: string, beyondBytes = 0) {
      await pass(index);
      await pass(index);
      const folder = lab.path("images", namespaceOf(index), `guest${index}`, `g${index}`);
      const description = JSON.parse(readFileSync(`${folder}/image.json`, "utf8"));
      const bytes = one + 16 * 1_048_576 + beyondBytes;
      truncateSync(`${folder}/pages.img`, bytes);
      writeFileSync(`${folder}/image.json`, JSON.stringify({ ...description, bytes }));
      doors.store.sizes.forget();
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

export type Node = Awaited<ReturnType<typeof openNode>>;

/** Passes over all images, as the workers make them, until this one is as wanted. */
export async function passUntil({ count, pass, statusOf }: Node, index: number, phase: string) {
  for (let round = 0; round < 50 && statusOf(index)?.phase !== phase; round += 1) {
    for (let each = 0; each < count; each += 1) await pass(each);
  }
  expect(statusOf(index)?.phase).toBe(phase);
}
