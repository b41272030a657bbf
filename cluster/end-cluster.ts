import { existsSync, readdirSync, rmdirSync } from "node:fs";
import type { Clock } from "../lib/clock.ts";
import { stayAlive } from "../lib/stay-alive.ts";
import { removeBridge, removeProxyRules } from "./bridge.ts";
import { killClusterProcesses, removeCgroups } from "./cgroup.ts";
import { refuseOtherOwner, removeDirectory } from "./cluster-directory.ts";
import { restoreKernelSettings } from "./kernel-settings.ts";
import { layoutOf, provisionerDirectory } from "./layout.ts";

/**
 * Ends a cluster, or what is left of one, and leaves the machine as it was: no process, mount, bridge, network
 * namespace, packet filter rule, cgroup or file. It needs nothing to work but the kernel.
 *
 * @throws DirectoryRefused when the cluster on this machine is another one.
 */
export async function endCluster(directory: string, clock: Clock): Promise<void> {
  const layout = layoutOf(directory);
  using _alive = stayAlive();
  await refuseOtherOwner(layout);
  // First: the end of a network namespace that has a link holds up every other change of links for as long as it takes.
  await removeBridge(clock);
  // The mounts and the network namespaces of all Pods go with the last process that is in them.
  await killClusterProcesses(clock);
  // What was at work until then may have made another.
  await removeBridge(clock);
  await removeProxyRules();
  restoreKernelSettings(layout.kernelSettings);
  removeCgroups();
  if (existsSync(provisionerDirectory) && readdirSync(provisionerDirectory).length === 0)
    rmdirSync(provisionerDirectory);
  removeDirectory(layout);
}
