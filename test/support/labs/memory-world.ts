import { readFileSync, writeFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { memoryImageAnnotation, signatureAnnotation } from "../../../api/rules/keys.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { parseAgentConfig } from "../../../node/agent/config/config.ts";
import { startAgent } from "../../../node/agent/start-agent.ts";
import { createAgentPod } from "../fakes/fake-node-agent.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { type LabPod, NodeLab } from "./node-lab.ts";
import { openSleepLab, type SleepLab, waiting } from "./sleep-lab.ts";

const base = { clock: systemClock, log: silentLogger };

/** The scheduler leaves a Pod with a gate alone. */
const isSigned = ({ metadata, spec }: Stored<Pod>): boolean =>
  metadata.annotations?.[signatureAnnotation] !== undefined && !spec?.schedulingGates?.length && !spec?.nodeName;

const place = (client: KubeClient, { metadata }: Stored<Pod>, nodeName: string) =>
  client.patch(podType, { ...metadata }, { type: "merge", body: { spec: { nodeName } } });

/** Starts the processes of each Pod as containerd and the shim do: from the memory that it asks for, or anew. */
function startShim(client: KubeClient, node: NodeLab) {
  const started = new Map<string, Promise<LabPod>>();
  const start = ({ metadata }: Stored<Pod>): Promise<LabPod> => {
    const { name, uid, annotations } = metadata;
    const image = annotations?.[memoryImageAnnotation];
    const passed = { uid, annotations: { ...annotations } };
    if (image === undefined) return node.startPod(passed);
    const folder = node.path("images", "default", name);
    const memory = readFileSync(`${folder}/${image}/pages.img`, "utf8");
    for (const file of [`${image}.json`, `${image}.main.json`]) {
      writeFileSync(`${folder}/${file}`, JSON.stringify({ pod: uid, container: "c", outcome: "restored" }));
    }
    return node.startPod({ ...passed, memory });
  };
  const pods = startInformer<Pod>({ ...base, client, type: podType, indexes: {}, namespace: "default" });
  pods.onChange(({ current }) => {
    if (current && isSigned(current)) void place(client, current, node.nodeName);
    if (current?.spec?.nodeName === node.nodeName && !started.has(current.metadata.uid)) {
      started.set(current.metadata.uid, start(current));
    }
  });
  return { started, [Symbol.asyncDispose]: () => pods[Symbol.asyncDispose]() };
}

export const untilCapturable = ({ client }: SleepLab, podUID: string) =>
  vi.waitFor(async () => {
    const { items } = await client.list<MemoryImage>(memoryImageType, { namespace: "default" });
    expect(items.find(({ spec }) => spec.podUID === podUID)?.status?.preflight?.capturable).toBe(true);
  }, waiting);

/** The controller, the agent of a node, and a sandbox whose process counts. */
export async function openMemoryWorld() {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openSleepLab());
  const node = stack.use(new NodeLab());
  const shim = stack.use(startShim(lab.client, node));
  const flags = [`--runsc=${node.runsc.program}`, `--runsc-root=${node.runsc.root}`, `--store=${node.storeRoot}`];
  const own = [
    "--node-name=node-1",
    "--namespace=agent-sandbox-system",
    "--min-free-bytes=0",
    "--min-free-percent=0",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
  ];
  const config = parseAgentConfig([...flags, ...own]);
  await createAgentPod(lab.client);
  stack.use(await startAgent(config, { ...base, client: withinRights("agent", lab.client), registry: new Registry() }));
  stack.use(await lab.startController({ flags: ["--hibernation"] }));
  const containers = [{ name: "main", image: "busybox" }];
  await lab.create({
    suspensionStrategy: { type: "Hibernate" },
    podTemplate: { spec: { containers, nodeName: "node-1", runtimeClassName: "gvisor" } },
  });
  const opened = stack.move();
  return { lab, node, shim, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
