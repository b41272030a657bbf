import { dirname } from "node:path";
import { inject } from "vitest";
import { stopDaemon } from "../../../../cluster/daemon.ts";
import { type Layout, layoutOf } from "../../../../cluster/layout.ts";
import { startCluster } from "../../../../cluster/start-cluster.ts";
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
  const { directory } = layout;
  const options = { directory, programs: inject("programs"), clock: systemClock, provideImages: async () => {} };
  return { [Symbol.asyncDispose]: async () => void (await startCluster(options)) };
}
