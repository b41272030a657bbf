import { Agent, fetch as fetchThrough } from "undici";
import { inject } from "vitest";
import { createKubectl, type Kubectl } from "../../../cluster/kubectl.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { loadConnection } from "../../../kube/client/connection.ts";
import { createKubeClient } from "../../../kube/client/http-client.ts";

interface RequestAs {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The real cluster, with the rights of its administrator. */
export interface ClusterUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly client: KubeClient;
  readonly kubectl: Kubectl;
  /** `fetch` with the administrator's certificate. */
  readonly fetch: typeof fetch;
  /** `fetch` with a token, as another user. */
  fetchAs(token: string, url: string, init: RequestAs): Promise<Response>;
}

export async function connectToCluster(): Promise<ClusterUnderTest> {
  const kubeconfig = inject("kubeconfig");
  const connection = await loadConnection({ kubeconfig, environment: process.env });
  const client = createKubeClient(connection, { userAgent: "rouse-test" });
  const { ca, cert, key } = connection.tls;
  const dispatcher = new Agent({ connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } });
  const anonymous = new Agent({ connect: { ...(ca && { ca }) } });
  const fetchAs = (token: string, url: string, init: RequestAs) =>
    fetchThrough(url, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      dispatcher: anonymous,
    });
  const fetchAsAdministrator = (url: string, init: object) => fetchThrough(url, { ...init, dispatcher });
  return {
    url: connection.server,
    client,
    kubectl: createKubectl(inject("kubectl"), kubeconfig),
    // The same function as the global one, of a newer version, with the same types.
    fetch: fetchAsAdministrator as unknown as typeof fetch,
    fetchAs: fetchAs as unknown as ClusterUnderTest["fetchAs"],
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await Promise.all([dispatcher.destroy(), anonymous.destroy()]);
    },
  };
}
