import type { Pod } from "../../../../api/kinds/core.ts";
import type { Stored } from "../../../../api/kinds/meta.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { findActivator, type InstalledActivator } from "./installed-activator.ts";
import { replicasOf } from "./replicas.ts";

export async function anActivator(cluster: ClusterUnderTest): Promise<Stored<Pod>> {
  const [replica] = await replicasOf(cluster, "sandbox-router");
  if (!replica) throw new Error("there is no activator");
  return replica;
}

/**
 * Connects to the address of a Pod, because after an outage the one node of the cluster may count as lost for a moment, and
 * a Service has no endpoint on a lost node.
 */
export function findDirectly(cluster: ClusterUnderTest, { status }: Stored<Pod>): Promise<InstalledActivator> {
  return findActivator(cluster, status?.podIP);
}
