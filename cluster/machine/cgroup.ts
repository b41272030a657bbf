import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/time/clock.ts";
import { processesBelow, removeCgroupsBelow } from "./cgroup-tree.ts";

const root = "/sys/fs/cgroup";
const name = "rouse";
/** The cgroup of the kubelet's Pods. */
export const podsCgroup = `/${name}`;

const isUnified = () => existsSync(join(root, "cgroup.controllers"));

/** Every hierarchy that a kubelet uses: one with cgroup v2, one per controller with v1. */
function hierarchies(): readonly string[] {
  if (isUnified()) return [root];
  return readdirSync(root)
    .map((controller) => join(root, controller))
    .filter((path) => existsSync(join(path, "cgroup.procs")));
}

// Every container is in every hierarchy, so one is enough to find them all. With v1, `pids` has no overhead.
const tracking = () => (isUnified() ? root : join(root, "pids"));

/** The cgroup of the components, so that all their descendants can be found. */
export const componentsFile = () => join(tracking(), name, "components", "cgroup.procs");

export function makeCgroups(): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, name), { recursive: true });
  mkdirSync(join(tracking(), name, "components"), { recursive: true });
  if (!isUnified()) return;
  // A cgroup of v2 passes only enabled controllers on to its children.
  const controllers = readFileSync(join(root, "cgroup.controllers"), "utf8").trim().split(/\s+/);
  const all = controllers.map((controller) => `+${controller}`).join(" ");
  for (const path of [root, join(root, name)]) writeFileSync(join(path, "cgroup.subtree_control"), all);
}

/** The ids of all processes of the cluster: components, containers, and their descendants. */
const clusterProcesses = (): readonly number[] => processesBelow(join(tracking(), name));

const killLimitMs = 30_000;
const killEveryMs = 50;

/**
 * Kills every process of the cluster, except `staying`.
 *
 * @throws when some still exist after 30 s.
 */
export async function killClusterProcesses(clock: Clock, staying?: number): Promise<void> {
  const startMs = clock.ticksMs();
  const remaining = () => clusterProcesses().filter((pid) => pid !== staying);
  for (let left = remaining(); left.length > 0; left = remaining()) {
    if (clock.ticksMs() - startMs > killLimitMs) throw new Error(`cannot kill processes: ${left.join(", ")}`);
    for (const pid of left) tryKill(pid);
    await clock.sleep(killEveryMs);
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export const removeCgroups = (): void => removeBelow(name);

/** Of Pods whose processes were killed. The kubelet would look at each of these cgroups for 3 s before it is ready. */
export const removePodCgroups = (): void => removeBelow(join(name, "kubepods"));

function removeBelow(path: string): void {
  for (const hierarchy of hierarchies()) removeCgroupsBelow(join(hierarchy, path));
}
