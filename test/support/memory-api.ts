import type { KubeClient } from "../../kube/client.ts";
import { connectionFor } from "../../kube/connection.ts";
import { createKubeClient } from "../../kube/http-client.ts";
import type { ServedKind } from "../../kube/memory/served-kind.ts";
import { type MemoryApiServer, startMemoryApiServer } from "../../kube/memory/start-memory-api-server.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { permissiveKinds } from "./permissive-kinds.ts";

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
 * await api.client.create(configMapType, aConfigMap);
 * ```
 *
 * The namespaces `default`, `kube-system` and `agent-sandbox-system` are there. A clock that is handed in gives the
 * timestamps and ends watches; the sockets live in real time.
 */
export async function openMemoryApi(
  options: { readonly clock?: Clock; readonly kinds?: readonly ServedKind[] } = {},
): Promise<MemoryApi> {
  const server = await startMemoryApiServer({
    clock: options.clock ?? systemClock,
    log: silentLogger,
    host: "127.0.0.1",
    port: 0,
    kinds: options.kinds ?? permissiveKinds,
  });
  const client = createKubeClient(connectionFor({ server: server.url }), { userAgent: "rouse-test" });
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
