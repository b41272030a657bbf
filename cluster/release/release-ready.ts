import type { EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Kubectl } from "../kubectl.ts";
import { waitUntil } from "../wait.ts";
import { release } from "./install-chart.ts";

const readyLimitMs = 240_000;

/**
 * Waits until all Pods of the release are ready and its Services lead to them. After a restart of the node, `helm status` and the
 * status of a Deployment are still those from before.
 *
 * @throws after 240 s.
 */
export async function releaseIsReady(kubectl: Kubectl, clock: Clock): Promise<void> {
  using _alive = stayAlive();
  const list = async (kind: string) =>
    JSON.parse(await kubectl.run(["get", kind, `--namespace=${release.namespace}`, "--output=json"])).items;
  const isReady = async () => leadsToReadyPods(await list("pods"), await list("endpointslices"));
  const complaint = () => `the Pods in the namespace ${release.namespace} do not become ready`;
  await waitUntil(isReady, { clock, limitMs: readyLimitMs, complaint });
}

/** Whether all Pods that have not ended are ready, and each Service has an address, and only addresses of these Pods. */
export function leadsToReadyPods(
  pods: readonly Pick<Pod, "status">[],
  slices: readonly Pick<EndpointSlice, "endpoints">[],
): boolean {
  // Those of `helm test` have ended, and stay.
  const running = pods.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const isReady = ({ status }: Pick<Pod, "status">) => findCondition(status?.conditions, "Ready")?.status === "True";
  const addresses = new Set(running.filter(isReady).map(({ status }) => status?.podIP));
  const served = slices.map(({ endpoints }) => (endpoints ?? []).filter(({ conditions }) => conditions?.ready));
  return (
    running.length > 0 &&
    running.every(isReady) &&
    served.every((endpoints) => endpoints.length > 0) &&
    served.flat().every((endpoint) => endpoint.addresses.every((address) => addresses.has(address)))
  );
}
