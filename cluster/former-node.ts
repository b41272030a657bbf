import type { Pod } from "../api/kinds/pod.ts";
import { findCondition } from "../api/rules/conditions.ts";
import type { Kubectl } from "./kubectl.ts";
import { nodeName } from "./network.ts";

/**
 * Marks a node and its Pods as not ready, before the kubelet starts. The containers ended with the machine, or with the process that
 * kept them, so what the kubelet reported before is no longer true. The node controller does the same, but only 40 s after the last
 * report of the kubelet. Until then Services would lead to addresses that no Pod has.
 */
export async function distrustFormerNode(kubectl: Kubectl): Promise<void> {
  const found = await kubectl.run(["get", "node", nodeName, "--ignore-not-found", "--output=name"]);
  if (found === "") return;
  await patchStatus(kubectl, ["node", nodeName], { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" });
  const args = ["get", "pods", "--all-namespaces", `--field-selector=spec.nodeName=${nodeName}`, "--output=json"];
  const { items } = JSON.parse(await kubectl.run(args)) as { readonly items: readonly Pod[] };
  for (const { metadata, status } of items) {
    if (findCondition(status?.conditions, "Ready")?.status !== "True") continue;
    const pod = ["pod", `${metadata.name}`, `--namespace=${metadata.namespace}`];
    await patchStatus(kubectl, pod, { type: "Ready", status: "False", reason: "NodeRestarted" });
  }
}

async function patchStatus(
  kubectl: Kubectl,
  object: readonly string[],
  condition: { readonly type: string; readonly status: string; readonly reason: string },
): Promise<void> {
  const patch = JSON.stringify({ status: { conditions: [condition] } });
  await kubectl.run(["patch", ...object, "--subresource=status", "--type=strategic", `--patch=${patch}`]);
}
