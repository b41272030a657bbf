import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import {
  type MemoryApiOptions,
  type MemoryApiServer,
  startMemoryApiServer,
} from "../../apiserver/start-memory-api-server.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";

export interface MemoryApi extends AsyncDisposable {
  readonly url: string;
  readonly client: KubeClient;
  readonly server: MemoryApiServer;
}

/**
 * An API server in memory on a free loopback port, with a client, for one test:
 *
 * ```ts
 * await using api = await openMemoryApi();
 * await api.client.create(configMapType, { metadata: { name: "settings", namespace: "default" } });
 * ```
 *
 * It serves every kind of local mode, with its schema. The namespaces `default`, `kube-system` and
 * `agent-sandbox-system` exist. The given clock sets the timestamps, ends watches and expires events. Sockets use real
 * time.
 */
export async function openMemoryApi(options: Partial<MemoryApiOptions> = {}): Promise<MemoryApi> {
  const server = await startMemoryApiServer({
    clock: systemClock,
    log: silentLogger,
    host: "127.0.0.1",
    port: 0,
    kinds: servedKinds(),
    ...options,
  });
  const connection = connectionFor({
    server: server.url,
    ...(options.token !== undefined && { token: options.token }),
    ...(options.tls && { ca: options.tls.cert }),
  });
  const client = createKubeClient(connection, { userAgent: "rouse-test" });
  return {
    url: server.url,
    client,
    server,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
