import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import type { PodLogSource } from "../../apiserver/pod-log-source.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { makeCredentials, makeKubeconfig } from "../../local/credentials.ts";
import { type Binary, Kubectl } from "./kubectl.ts";

export interface Cluster extends AsyncDisposable {
  readonly kubectl: Kubectl;
  /** For the actions of controllers and kubelets. */
  readonly client: KubeClient;
}

/** An API server in memory as local mode starts it, with TLS and a token, and a kubectl with its kubeconfig. */
export async function openCluster(binary: Binary, podLogs?: PodLogSource): Promise<Cluster> {
  await using cleanup = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "rouse-kubectl-"));
  cleanup.defer(() => rm(home, { recursive: true }));
  const credentials = await makeCredentials();
  const { authority, server: pair, token } = credentials;
  const server = cleanup.use(
    await startMemoryApiServer({
      clock: systemClock,
      log: silentLogger,
      host: "127.0.0.1",
      port: 0,
      tls: { key: pair.key, cert: pair.certificate },
      token,
      kinds: servedKinds(),
      ...(podLogs && { podLogs }),
    }),
  );
  const kubeconfig = join(home, "kubeconfig");
  await writeFile(kubeconfig, makeKubeconfig(server.url, credentials), { mode: 0o600 });
  const client = cleanup.use(
    createKubeClient(connectionFor({ server: server.url, token, ca: authority }), { userAgent: "rouse-test" }),
  );
  const disposables = cleanup.move();
  return {
    kubectl: new Kubectl(binary, { kubeconfig, home }),
    client,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
