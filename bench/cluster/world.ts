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
  /** Of every count of objects: 1 is what the figures in `bench/README.md` are from. */
  readonly share: number;
  readonly nodes: number;
  /** How often those take their turns that are compared. */
  readonly rounds: number;
}

/** What every part of the bench is handed. */
export interface World extends AsyncDisposable, Cluster {
  readonly programs: BuiltPrograms;
  readonly connection: KubeConnection;
  readonly client: KubeClient;
  readonly say: (line: string) => void;
  readonly rounds: number;
  /** So many of something, or the share of it that was asked for; at least one. */
  count(full: number): number;
  tool(name: ToolName): Promise<string>;
  /** Starts the nodes that only seem to run Pods; disposing of them ends it. */
  startNodes(): Promise<AsyncDisposable>;
  /** A namespace that is deleted with all that is in it, and gone, once it is disposed of. */
  openNamespace(): Promise<AsyncDisposable & { readonly name: string }>;
}

// Ten thousand sandboxes are gone in minutes, not seconds; whatever is left then is no longer waited for.
const looksMax = 600;
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
    rounds,
    count: (full) => Math.max(1, Math.round(full * share)),
    startNodes: async () => startKwokNodes(await tool("kwok"), nodes, { kubectl, layout }),
    async openNamespace() {
      const name = `bench-${randomUUID().slice(0, 8)}`;
      await kubectl.run(["create", "namespace", name]);
      return {
        name,
        [Symbol.asyncDispose]: async () => {
          await kubectl.run(["delete", "namespace", name, "--wait=false"]);
          const isThere = () => kubectl.succeeds(["get", "namespace", name]);
          for (let looks = 0; looks < looksMax && (await isThere()); looks += 1) await systemClock.sleep(checkEveryMs);
        },
      };
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
