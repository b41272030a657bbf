import { writeFileSync } from "node:fs";
import { ensureDaemon, stopDaemon } from "../../cluster/daemon.ts";
import type { Kubectl } from "../../cluster/kubectl.ts";
import type { Layout } from "../../cluster/layout.ts";
import { network } from "../../cluster/network.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { kwokStages } from "./kwok-stages.ts";

/** The node selector and tolerations of a Pod for kwok's nodes. */
export const onKwok = {
  nodeSelector: { type: "kwok" },
  tolerations: [{ key: "kwok.x-k8s.io/node", operator: "Exists" }],
} as const;

// In the address range for benchmarks (RFC 2544), apart from those of the cluster's Pods and Services.
const podRange = "198.19.128.0/18";
const podsEach = 4_000;
const settleLimitMs = 60_000;

const nodeNamed = (name: string) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: { type: "kwok", "kubernetes.io/hostname": name },
    annotations: { "kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0" },
  },
  spec: { taints: [{ key: "kwok.x-k8s.io/node", value: "fake", effect: "NoSchedule" }] },
});

/**
 * Starts kwok with simulated nodes. The real scheduler binds their Pods, which become ready without a process. The rest of the
 * control plane is real.
 */
export async function startKwokNodes(
  program: string,
  count: number,
  { kubectl, layout }: { readonly kubectl: Kubectl; readonly layout: Layout },
): Promise<AsyncDisposable> {
  const file = layout.settings("kwok.yaml");
  const settings = kwokStages(podsEach)
    .map((each) => JSON.stringify(each))
    .join("\n---\n");
  writeFileSync(file, settings);
  const args = [
    `--config=${file}`,
    `--kubeconfig=${layout.kubeconfig("admin")}`,
    "--v=WARN",
    "--manage-nodes-with-label-selector=type=kwok",
    `--cidr=${podRange}`,
    `--node-ip=${network.node}`,
    "--node-lease-duration-seconds=40",
  ];
  // As a part of the cluster, so that it ends with the cluster, even if this process is killed.
  await ensureDaemon("kwok", { program, args }, { layout, clock: systemClock, settings });
  const names = Array.from({ length: count }, (_, at) => `kwok-${at}`);
  const stop = async () => {
    await kubectl.run(["delete", "node", "--selector=type=kwok", "--ignore-not-found"]);
    await stopDaemon(layout, "kwok", systemClock);
  };
  try {
    await kubectl.apply(names.map(nodeNamed));
    await kubectl.run(["wait", ...names.map((name) => `node/${name}`), "--for=condition=Ready", "--timeout=60s"]);
    // Until the node controller has seen that too, it marks the nodes' Pods as not ready.
    const taints = ["get", "node", ...names, "--output=jsonpath={.items[*].spec.taints[*].key}"];
    const isSettled = async () => !(await kubectl.run(taints)).includes("not-ready");
    const complaint = () => "kwok's nodes keep their taint";
    await waitUntil(isSettled, { clock: systemClock, limitMs: settleLimitMs, complaint });
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop };
}
