import { podType } from "../../../api/kinds/core.ts";
import { type MemoryImage, type MemoryImageStatus, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, signatureAnnotation } from "../../../api/rules/keys.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";

export interface FakeNodeAgent extends AsyncDisposable {
  /** Its answer to a preflight; undefined: none. */
  preflight: MemoryImageStatus["preflight"];
  /** What it reports of a capture; undefined: nothing. */
  capture: (image: Stored<MemoryImage>) => MemoryImageStatus | undefined | Promise<MemoryImageStatus | undefined>;
  /** What it reports of a restore; undefined: nothing. */
  restore: (pod: Stored<Pod>) => Omit<NonNullable<MemoryImageStatus["restore"]>, "podUID"> | undefined;
  /** Whether Pods that are to be restored get their node. Else the scheduler says that they do not. */
  takesPods: boolean;
  /** Whether the scheduler says nothing at all. */
  isSchedulerSilent: boolean;
  /** The UIDs of the Pods that were to be captured, and of those that were to be restored, in order. */
  readonly captured: readonly string[];
  readonly restored: readonly string[];
}

export const captured: MemoryImageStatus = {
  phase: "Captured",
  bytes: 31_000_000,
  imageHash: "a".repeat(64),
  runscVersion: "v1",
  capturedAt: "2026-01-01T12:00:00Z",
  durations: { freezeMs: 13, writeMs: 70, syncMs: 9, hashMs: 8 },
};

/** The Pod of the agent, which the kubelet of the test has to make Ready. */
export const agentPod = { namespace: "agent-sandbox-system", name: "rouse-node-agent-1" };

export function createAgentPod(client: KubeClient): Promise<Stored<Pod>> {
  const containers = [{ name: "node-agent", image: "rouse" }];
  const spec = { containers, nodeName: "node-1", serviceAccountName: "rouse-node-agent" };
  const metadata = { ...agentPod, labels: { app: "rouse-node-agent" } };
  return client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec });
}

/** The scheduler leaves a Pod with a gate alone. The node is that of all images. */
const isToBePlaced = ({ metadata, spec }: Stored<Pod>): boolean =>
  metadata.annotations?.[signatureAnnotation] !== undefined && !spec?.nodeName && !spec?.schedulingGates?.length;

const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
const isRefused = ({ status }: Stored<Pod>): boolean =>
  status?.conditions?.some(({ reason }) => reason === unschedulable.reason) === true;

/** Stands for the agents of all nodes. It speaks to the controller as they do, through the API, and captures nothing. */
export function startFakeNodeAgent(client: KubeClient): FakeNodeAgent {
  const base = { client, indexes: {}, clock: systemClock, log: silentLogger };
  const images = startInformer<MemoryImage>({ ...base, type: memoryImageType });
  const pods = startInformer<Pod>({ ...base, type: podType });
  const work = new Set<Promise<unknown>>();
  const asked = { captured: [] as string[], restored: [] as string[] };
  const begin = (task: Promise<unknown>) => {
    const done = task
      .catch((error: unknown) => isNotFound(error) || Promise.reject(error))
      .finally(() => work.delete(done));
    work.add(done);
  };
  const report = ({ namespace, name }: { namespace?: string | undefined; name: string }, status: MemoryImageStatus) =>
    client.patch(memoryImageType, { namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
  const place = ({ metadata: { name, namespace } }: Stored<Pod>) =>
    client.patch(podType, { namespace, name }, { type: "merge", body: { spec: { nodeName: "node-1" } } });
  // The fake kubelet writes the conditions, too. Who writes first is overwritten, and this is written again then.
  const refuse = ({ metadata: { name, namespace }, status }: Stored<Pod>) => {
    const body = { status: { conditions: [...(status?.conditions ?? []), unschedulable] } };
    return client.patch(podType, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  };
  const agent: FakeNodeAgent = {
    preflight: { capturable: true },
    capture: () => captured,
    takesPods: true,
    isSchedulerSilent: false,
    restore: () => ({ outcome: "Restored", durationMs: 412 }),
    ...asked,
    async [Symbol.asyncDispose]() {
      await Promise.all([images[Symbol.asyncDispose](), pods[Symbol.asyncDispose]()]);
      await Promise.all(work);
    },
  };
  begin(createAgentPod(client));
  images.onChange(({ current }) => {
    if (!current) return;
    const { stage, podUID } = current.spec;
    if (stage === "Preflight" && agent.preflight && !current.status?.preflight) {
      begin(report(current.metadata, { preflight: agent.preflight }));
    }
    if (stage !== "Capture" || asked.captured.includes(podUID)) return;
    asked.captured.push(podUID);
    begin(Promise.resolve(agent.capture(current)).then((status) => status && report(current.metadata, status)));
  });
  pods.onChange(({ current }) => {
    if (current && !agent.isSchedulerSilent && isToBePlaced(current)) {
      if (agent.takesPods) begin(place(current));
      else if (!isRefused(current)) begin(refuse(current));
    }
    const name = current?.metadata.annotations?.[memoryImageAnnotation];
    if (!current?.spec?.nodeName || name === undefined || asked.restored.includes(current.metadata.uid)) return;
    asked.restored.push(current.metadata.uid);
    const { namespace, uid } = current.metadata;
    const restore = agent.restore(current);
    if (restore) begin(report({ namespace, name }, { restore: { podUID: uid, ...restore } }));
  });
  return agent;
}
