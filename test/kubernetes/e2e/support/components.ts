import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { Agent, fetch } from "undici";
import { inject } from "vitest";
import { stopDaemon } from "../../../../cluster/daemon.ts";
import { type Layout, layoutOf } from "../../../../cluster/layout.ts";
import { ports } from "../../../../cluster/network.ts";
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

/** Has etcd forget all but the present: no watch can go on from where it was (etcd's gRPC gateway, `/v3/kv`). */
export async function compactEtcd(): Promise<void> {
  const { pki } = clusterLayout();
  const read = (file: string) => readFileSync(pki(file));
  const connect = { ca: read("ca.crt"), cert: read("apiserver-client.crt"), key: read("apiserver-client.key") };
  await using dispatcher = new EtcdAgent({ connect });
  const call = async (method: string, body: object): Promise<{ readonly header?: { readonly revision?: string } }> => {
    const url = `https://127.0.0.1:${ports.etcd}/v3/kv/${method}`;
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body), dispatcher });
    if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`);
    return (await response.json()) as { readonly header?: { readonly revision?: string } };
  };
  const { header } = await call("range", { key: Buffer.from("/").toString("base64") });
  await call("compaction", { revision: header?.revision, physical: true });
}

class EtcdAgent extends Agent implements AsyncDisposable {
  async [Symbol.asyncDispose]() {
    await this.destroy();
  }
}
