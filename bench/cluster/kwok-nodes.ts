import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import type { Kubectl } from "../../cluster/kubectl.ts";
import type { Layout } from "../../cluster/layout.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { systemClock } from "../../lib/clock.ts";
import { kwokStages } from "./kwok-stages.ts";

/** Where a Pod goes that is to run on a node that only seems to be there. */
export const onKwok = {
  nodeSelector: { type: "kwok" },
  tolerations: [{ key: "kwok.x-k8s.io/node", operator: "Exists" }],
} as const;

// Of the range for benchmarks, and beside those of the cluster's Pods and Services.
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
 * Starts kwok and gives it nodes: their Pods are bound by the real scheduler and become ready without any process. Everything
 * else of the control plane is real.
 */
export async function startKwokNodes(
  program: string,
  count: number,
  { kubectl, layout }: { readonly kubectl: Kubectl; readonly layout: Layout },
): Promise<AsyncDisposable> {
  const stages = layout.settings("kwok.yaml");
  writeFileSync(
    stages,
    kwokStages(podsEach)
      .map((each) => JSON.stringify(each))
      .join("\n---\n"),
  );
  const log = openSync(layout.log("kwok"), "a");
  const flags = [
    "--v=WARN",
    "--manage-nodes-with-label-selector=type=kwok",
    `--cidr=${podRange}`,
    "--node-ip=198.19.0.1",
    "--node-lease-duration-seconds=40",
  ];
  const child = spawn(program, [`--config=${stages}`, `--kubeconfig=${layout.kubeconfig("admin")}`, ...flags], {
    stdio: ["ignore", log, log],
    env: {},
  });
  closeSync(log);
  const ended = once(child, "exit");
  const names = Array.from({ length: count }, (_, at) => `kwok-${at}`);
  const stop = async () => {
    await kubectl.run(["delete", "node", ...names, "--ignore-not-found"]);
    child.kill("SIGTERM");
    await ended;
  };
  try {
    await kubectl.apply(names.map(nodeNamed));
    await kubectl.run(["wait", ...names.map((name) => `node/${name}`), "--for=condition=Ready", "--timeout=60s"]);
    // Until the node controller has seen that too, it takes the nodes' Pods for not ready.
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
