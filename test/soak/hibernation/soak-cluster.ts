import { bringUp } from "../../../cluster/bring-up.ts";
import type { BuiltPrograms } from "../../../cluster/components.ts";
import { parseClusterConfig } from "../../../cluster/config.ts";
import { findDaemon } from "../../../cluster/daemon.ts";
import { refuseOtherOwner } from "../../../cluster/directory/cluster-directory.ts";
import { type Layout, layoutOf } from "../../../cluster/layout.ts";
import { loadConnection } from "../../../kube/client/connection.ts";
import { createKubeClient } from "../../../kube/client/http-client.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { defaultCacheDirectory } from "../../../scripts/tools/build-tool.ts";
import type { ClusterUnderTest } from "../../kubernetes/support/cluster-under-test.ts";

/** A cluster with gVisor on this machine. */
export interface SoakCluster extends Pick<ClusterUnderTest, "client" | "kubectl"> {
  readonly layout: Layout;
  readonly programs: BuiltPrograms;
}

/** The cluster of this machine, with the product of this checkout. Parts that do not run are started. */
export async function openSoakCluster(say: (line: string) => void): Promise<SoakCluster & AsyncDisposable> {
  const config = parseClusterConfig(["up", "--gvisor"], process.env);
  await refuseOtherOwner(layoutOf(config.directory));
  const builder = { cacheDirectory: defaultCacheDirectory(process.env), environment: process.env, say };
  const { kubectl, layout, programs } = await bringUp(config, builder, systemClock);
  const connection = await loadConnection({ kubeconfig: layout.kubeconfig("admin"), environment: process.env });
  const client = createKubeClient(connection, { userAgent: "rouse-test" });
  return { client, kubectl, layout, programs, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** The process whose mounts are those of the node. */
export function mountKeeper(layout: Layout): number {
  const keeper = findDaemon(layout, "mount-namespace");
  if (!keeper) throw new Error("the cluster does not run; start it with `npm run cluster -- --gvisor`");
  return keeper.pid;
}
