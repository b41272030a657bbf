import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { MemoryImage, MemoryImageStatus } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
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
function apiOf(lab: NodeLab, labPods: readonly LabPod[]) {
  const images = new Map<string, Stored<MemoryImage>>();
  const pods = labPods.map(({ uid }, index): Stored<Pod> => {
    const pod = podOf(lab, uid);
    images.set(`g${index}`, {
      ...imageOf(lab, uid, { podName: `guest${index}`, stage: "Capture" }),
      ...{ metadata: { ...stored, name: `g${index}`, namespace: "default" }, status: { phase: "Capturing" } },
    });
    return { ...pod, metadata: { ...stored, ...pod.metadata, name: `guest${index}`, uid } };
  });
  const view: View = {
    nodeName: lab.nodeName,
    memoryImage: ({ image }) => images.get(image),
    podByUid: (uid) => pods.find(({ metadata }) => metadata.uid === uid),
    podByName: (_, name) => pods.find(({ metadata }) => metadata.name === name),
  };
  const report = async (image: Stored<MemoryImage>, status: MemoryImageStatus) => {
    images.set(image.metadata.name, { ...image, status });
  };
  return { images, view, report };
}

it("captures that begin together do not take the same room", async () => {
  await using lab = new NodeLab();
  const pods = await Promise.all(Array.from({ length: 4 }, () => lab.startPod()));
  const doors = openDoors({ runsc: lab.runsc, storeRoot: lab.storeRoot, clock: systemClock });
  const { images, ...api } = apiOf(lab, pods);
  const one = (await doors.sandboxes.ofPod(pods[0]?.uid ?? ""))?.memoryBytes ?? expect.unreachable();
  const limits = { maxStoreBytes: Math.round((one + 16 * 1_048_576) * 1.5), minFreeBytes: 0 };
  const metrics = new AgentMetrics(new Registry(), { frozen: () => 0, used: async () => 0 });
  const agent = new Agent({
    doors,
    metrics,
    limits,
    ...api,
    log: silentLogger,
    storeRoot: lab.storeRoot,
    identity: labStore,
  });
  await Promise.all(pods.map((_, index) => agent.pass(`default/guest${index}/g${index}`, neverAborted)));
  const keys = await doors.store.keys();
  expect((await Promise.all(keys.map((key) => doors.store.read(key)))).filter(({ image }) => image)).toHaveLength(1);
  const refused = [...images.values()].filter(({ status }) => status?.reason === "StoreFull");
  expect(refused).toHaveLength(3);
});
