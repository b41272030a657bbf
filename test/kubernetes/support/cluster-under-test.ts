import { Agent, fetch as fetchThrough } from "undici";
import { inject } from "vitest";
import { createKubectl, type Kubectl } from "../../../cluster/kubectl.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { loadConnection } from "../../../kube/connection.ts";
import { createKubeClient } from "../../../kube/http-client.ts";

/** The real cluster, as its administrator. */
export interface ClusterUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly client: KubeClient;
  readonly kubectl: Kubectl;
  /** `fetch` with the administrator's certificate. */
  readonly fetch: typeof fetch;
}

export async function connectToCluster(): Promise<ClusterUnderTest> {
  const kubeconfig = inject("kubeconfig");
  const connection = await loadConnection({ kubeconfig });
  const client = createKubeClient(connection, { userAgent: "rouse-test" });
  const { ca, cert, key } = connection.tls;
  const dispatcher = new Agent({ connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } });
  const fetchAsAdministrator = (url: string, init: object) => fetchThrough(url, { ...init, dispatcher });
  return {
    url: connection.server,
    client,
    kubectl: createKubectl(inject("kubectl"), kubeconfig),
    // The same function as the global one, of a newer version: it takes and returns the same.
    fetch: fetchAsAdministrator as unknown as typeof fetch,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await dispatcher.destroy();
    },
  };
}
