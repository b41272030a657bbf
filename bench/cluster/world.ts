import { randomUUID } from "node:crypto";
import type { BuiltPrograms } from "../../cluster/components.ts";
import type { Cluster } from "../../cluster/start-cluster.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeConnection, loadConnection } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { findOrBuild, type ToolBuilder, type ToolName } from "../../scripts/tools/build-tool.ts";
import { startKwokNodes } from "./kwok-nodes.ts";

export interface Sizes {
  /** The share of every count of objects; 1 for the figures in `bench/README.md`. */
  readonly share: number;
  readonly nodes: number;
  /** The number of rounds for parts that compare; undefined: what is usual for the part. */
  readonly rounds: number | undefined;
}

/** The parameters of each part of the benchmark. */
export interface World extends AsyncDisposable, Cluster {
  readonly programs: BuiltPrograms;
  readonly connection: KubeConnection;
  readonly client: KubeClient;
  readonly say: (line: string) => void;
  /** The requested number of rounds, or what is usual for the part. */
  rounds(usual: number): number;
  /** The requested share of a full count; at least one. */
  count(full: number): number;
  tool(name: ToolName): Promise<string>;
  /** Starts kwok's nodes; disposing of them stops kwok. */
  startNodes(): Promise<AsyncDisposable>;
  /** A namespace; disposing of it deletes it with its objects, and waits until it is gone. */
  openNamespace(): Promise<AsyncDisposable & { readonly name: string }>;
}

// The deletion of ten thousand sandboxes takes minutes. After five minutes we stop waiting.
const checksMax = 600;
const checkEveryMs = 500;

export async function openWorld(
  cluster: Cluster & { readonly programs: BuiltPrograms },
  builder: ToolBuilder,
  { share, nodes, rounds }: Sizes,
): Promise<World> {
  const { kubectl, layout } = cluster;
  const connection = await loadConnection({ kubeconfig: layout.kubeconfig("admin"), environment: process.env });
  const client = createKubeClient(connection, { userAgent: "rouse-bench", connections: 64 });
  const tool = async (name: ToolName) => {
    const path = await findOrBuild(name, builder);
    if (path === undefined) throw new Error(`there is no Go here to build ${name} with`);
    return path;
  };
  return {
    ...cluster,
    connection,
    client,
    tool,
    say: builder.say,
    rounds: (usual) => rounds ?? usual,
    count: (full) => Math.max(1, Math.round(full * share)),
    startNodes: async () => startKwokNodes(await tool("kwok"), nodes, { kubectl, layout }),
    async openNamespace() {
      const name = `bench-${randomUUID().slice(0, 8)}`;
      await kubectl.run(["create", "namespace", name]);
      return {
        name,
        [Symbol.asyncDispose]: async () => {
          await kubectl.run(["delete", "namespace", name, "--wait=false"]);
          const exists = () => kubectl.succeeds(["get", "namespace", name]);
          for (let checks = 0; checks < checksMax && (await exists()); checks += 1)
            await systemClock.sleep(checkEveryMs);
        },
      };
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
