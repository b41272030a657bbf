import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { stayAlive } from "../lib/process/stay-alive.ts";
import type { Clock } from "../lib/time/clock.ts";
import { findOwner, removeBridge, removeProxyRules } from "./bridge.ts";
import { isCluster, refuseOtherOwner, removeDirectory } from "./directory/cluster-directory.ts";
import { layoutOf, provisionerDirectory } from "./layout.ts";
import { killClusterProcesses, removeCgroups } from "./machine/cgroup.ts";
import { restoreKernelSettings } from "./machine/kernel-settings.ts";

/**
 * Ends a cluster, or its remains, and restores the machine: no process, mount, bridge, network namespace, packet filter
 * rule, cgroup or file is left. It depends only on the kernel. False if this directory has no cluster: then it touches nothing, because
 * the cgroup and the packet filter rules could be those of another program.
 *
 * @throws DirectoryRefused when the cluster on this machine is another one.
 */
export async function endCluster(directory: string, clock: Clock): Promise<boolean> {
  const layout = layoutOf(directory);
  using _alive = stayAlive();
  await refuseOtherOwner(layout);
  if (!isCluster(layout, await findOwner())) return false;
  // First: while the kernel deletes a network namespace with a link, every other change of links waits.
  await removeBridge(clock);
  // The kernel removes the mounts and network namespaces of all Pods with the last process in them.
  await killClusterProcesses(clock);
  // A process that ran until now may have created another link.
  await removeBridge(clock);
  await removeProxyRules();
  restoreKernelSettings(layout.kernelSettings);
  removeCgroups();
  if (existsSync(provisionerDirectory) && readdirSync(provisionerDirectory).length === 0)
    rmdirSync(provisionerDirectory);
  removeDirectory(layout);
  return true;
}
