import { dirname } from "node:path";
import { inject } from "vitest";
import { stopDaemon } from "../../../../cluster/daemon.ts";
import { type Layout, layoutOf } from "../../../../cluster/layout.ts";
import { startCluster } from "../../../../cluster/start-cluster.ts";
import { systemClock } from "../../../../lib/time/clock.ts";

/** Where the cluster keeps what it is made of. */
export const clusterLayout = (): Layout => layoutOf(dirname(dirname(inject("kubeconfig"))));

/** What ends by itself where it cannot renew its lease, and is started anew; here they have no lease. */
const leaders = ["kube-controller-manager", "kube-scheduler"];

/** Ends a component; disposing starts it again, and resolves once the cluster can be used. */
export async function stopComponent(name: "kube-apiserver" | "kubelet"): Promise<AsyncDisposable> {
  const layout = clusterLayout();
  if (name === "kube-apiserver") await Promise.all(leaders.map((each) => stopDaemon(layout, each, systemClock)));
  await stopDaemon(layout, name, systemClock);
  const { directory } = layout;
  const options = { directory, programs: inject("programs"), clock: systemClock, provideImages: async () => {} };
  return { [Symbol.asyncDispose]: async () => void (await startCluster(options)) };
}
