import { dirname } from "node:path";
import { inject } from "vitest";
import { stopDaemon } from "../../../../cluster/daemon.ts";
import { type Layout, layoutOf } from "../../../../cluster/layout.ts";
import { startCluster } from "../../../../cluster/start-cluster.ts";
import { systemClock } from "../../../../lib/clock.ts";

/** Where the cluster keeps what it is made of. */
export const clusterLayout = (): Layout => layoutOf(dirname(dirname(inject("kubeconfig"))));

/** Ends a component; disposing starts it again, and resolves once the cluster can be used. */
export async function stopComponent(name: "kube-apiserver" | "kubelet"): Promise<AsyncDisposable> {
  const layout = clusterLayout();
  await stopDaemon(layout, name, systemClock);
  const { directory } = layout;
  const options = { directory, programs: inject("programs"), clock: systemClock, provideImages: async () => {} };
  return { [Symbol.asyncDispose]: async () => void (await startCluster(options)) };
}
