import { readdirSync, readFileSync } from "node:fs";
import { leaseType, type Pod, podType } from "../../../../api/kinds/core.ts";
import type { Stored } from "../../../../api/kinds/meta.ts";
import { release } from "../../../../cluster/release/install-chart.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { eventually } from "../../support/eventually.ts";

const { namespace } = release;

/** The Pods of one of the programs that are not terminating. */
export async function replicasOf(
  { client }: Pick<ClusterUnderTest, "client">,
  app: "sandbox-router" | "agent-sandbox-controller" | "rouse-node-agent",
): Promise<readonly Stored<Pod>[]> {
  const { items } = await client.list(podType, { namespace, labelSelector: `app=${app}` });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The identity in the controllers' Lease; empty while no controller leads. */
export async function leaderIdentity({ client }: ClusterUnderTest): Promise<string> {
  const lease = await client.get(leaseType, { namespace, name: "a3317529.agent-sandbox.x-k8s.io" });
  return lease.spec?.holderIdentity ?? "";
}

/** The replica that leads, once one does. */
export function leadingReplica(cluster: ClusterUnderTest): Promise<Stored<Pod>> {
  return eventually(async () => {
    const leader = await leaderIdentity(cluster);
    const replicas = await replicasOf(cluster, "agent-sandbox-controller");
    return replicas.find(({ metadata }) => leader.startsWith(`${metadata.name}_`));
  });
}

/** The number of requests that all replicas of the activator hold. */
export async function heldRequests(cluster: ClusterUnderTest): Promise<number> {
  const replicas = await replicasOf(cluster, "sandbox-router");
  const counts = replicas.map(async ({ status }) => {
    const response = await fetch(`http://${status?.podIP}:9090/metrics`);
    return Number(/^rouse_activator_held_requests (\d+)/m.exec(await response.text())?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** The processes of the program in a Pod. */
export function programsOf({ metadata }: Stored<Pod>): readonly number[] {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  const programs = pids.filter((pid) => {
    const inPod = readProcess(pid, "cgroup").includes(`/pod${metadata.uid}/`);
    return inPod && readProcess(pid, "cmdline").includes("main.js");
  });
  if (programs.length === 0) throw new Error(`no program runs in Pod ${metadata.name}`);
  return programs.map(Number);
}

/** Sends a signal to each of the processes. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, signal);
}

/** `kill -9` for the program in a Pod; its kubelet restarts it. */
export const killProgramOf = (pod: Stored<Pod>): void => signalAll(programsOf(pod), "SIGKILL");

/** Empty if the process has ended meanwhile. */
function readProcess(pid: string, file: "cgroup" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
