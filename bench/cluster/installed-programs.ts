import { readdirSync, readFileSync } from "node:fs";
import { leaseType, type Pod, podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { release } from "../../cluster/release/install-chart.ts";
import type { KubeClient } from "../../kube/client/client.ts";

export type App = "agent-sandbox-controller" | "sandbox-router";

const { namespace } = release;

export interface InstalledProgram {
  readonly pod: string;
  readonly podIP: string;
  readonly pid: number;
}

/** The replicas of one of the two programs, with the process id on this machine. */
export async function programsOf(client: KubeClient, app: App): Promise<readonly InstalledProgram[]> {
  const { items } = await client.list(podType, { namespace, labelSelector: `app=${app}` });
  return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(findProcess);
}

/** The replica of the controller that leads. */
export async function leadingController(client: KubeClient): Promise<InstalledProgram> {
  const lease = await client.get(leaseType, { namespace, name: "a3317529.agent-sandbox.x-k8s.io" });
  const leader = lease.spec?.holderIdentity ?? "";
  const found = (await programsOf(client, "agent-sandbox-controller")).find(({ pod }) => leader.startsWith(`${pod}_`));
  if (!found) throw new Error(`no replica of the controller is ${leader || "the leader"}`);
  return found;
}

function findProcess({ metadata, status }: Stored<Pod>): InstalledProgram {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  const inPod = (pid: string) =>
    readProcess(pid, "cgroup").includes(`/pod${metadata.uid}/`) && readProcess(pid, "cmdline").includes("main.ts");
  const pid = pids.find(inPod);
  if (pid === undefined) throw new Error(`no program runs in Pod ${metadata.name}`);
  return { pod: metadata.name, podIP: status?.podIP ?? "", pid: Number(pid) };
}

/** Empty if the process has ended meanwhile. */
function readProcess(pid: string, file: "cgroup" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
