import { dirname } from "node:path";
import { inject } from "vitest";
import { stopDaemon } from "../../../../cluster/daemon.ts";
import { type Layout, layoutOf } from "../../../../cluster/layout.ts";
import { killClusterProcesses } from "../../../../cluster/machine/cgroup.ts";
import { releaseIsReady } from "../../../../cluster/release/release-ready.ts";
import { type Cluster, startCluster } from "../../../../cluster/start-cluster.ts";
import { systemClock } from "../../../../lib/time/clock.ts";

/** The folders of the cluster. */
export const clusterLayout = (): Layout => layoutOf(dirname(dirname(inject("kubeconfig"))));

/** The components that exit if they cannot renew their lease, and are restarted. Here they have no lease. */
const leaders = ["kube-controller-manager", "kube-scheduler"];

/** Stops a component. Disposing starts it again, and resolves once the cluster is usable. */
export async function stopComponent(name: "kube-apiserver" | "kubelet"): Promise<AsyncDisposable> {
  const layout = clusterLayout();
  if (name === "kube-apiserver") await Promise.all(leaders.map((each) => stopDaemon(layout, each, systemClock)));
  await stopDaemon(layout, name, systemClock);
  return { [Symbol.asyncDispose]: async () => void (await restartCluster(layout)) };
}

/** Kills all components and containers, as the end of the machine does, and starts the cluster again. */
export async function restartMachine(): Promise<void> {
  await killClusterProcesses(systemClock);
  const { kubectl } = await restartCluster(clusterLayout());
  await releaseIsReady(kubectl, systemClock);
}

function restartCluster({ directory }: Layout): Promise<Cluster> {
  return startCluster({ directory, programs: inject("programs"), clock: systemClock, provideImages: async () => {} });
}
