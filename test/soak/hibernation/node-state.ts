import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import { programsOf, replicasOf } from "../../kubernetes/e2e/support/replicas.ts";
import { eventually } from "../../kubernetes/support/eventually.ts";
import { isSentry, processesWith, textOf } from "../../kubernetes/support/node-processes.ts";
import { residentBytes } from "../../programs/process-cost.ts";
import type { Findings } from "../findings.ts";
import { mountKeeper, type SoakCluster } from "./soak-cluster.ts";

/** What sandboxes leave on a node and in the API. After the last sandbox all of it must be as before the first one. */
const counted = [
  "store files",
  "store bytes",
  "tombstones",
  "sentries",
  "gofers",
  "shims",
  "mounts",
  "MemoryImages",
] as const;
export type NodeState = Readonly<Record<(typeof counted)[number], number>>;

export async function nodeStateOf({ client, layout }: SoakCluster): Promise<NodeState> {
  const store = join(layout.var, "lib/rouse");
  const filesIn = (folder: string) => globSync(`${folder}/**`, { cwd: store, withFileTypes: true });
  const images = filesIn("images").filter((each) => each.isFile());
  const bytes = images.map((each) => sizeOf(join(each.parentPath, each.name)));
  const marks = ["tombstones", "failed-captures", "killed"].flatMap(filesIn).filter((each) => each.isFile());
  const { items } = await client.list(memoryImageType, {});
  const mounts = textOf(`/proc/${mountKeeper(layout)}/mountinfo`).split("\n").length;
  return {
    "store files": images.length,
    "store bytes": bytes.reduce((sum, each) => sum + each, 0),
    tombstones: marks.length,
    sentries: processesWith(isSentry).length,
    gofers: processesWith(([program]) => program === "runsc-gofer").length,
    shims: processesWith(([program = ""]) => program.includes("containerd-shim-rouse")).length,
    mounts,
    MemoryImages: items.length,
  };
}

/** Zero if the file is gone by now. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const settleLimitMs = 120_000;

const ofContainerd: readonly (keyof NodeState)[] = ["shims", "mounts"];

export interface LeftOptions {
  readonly before: NodeState;
  readonly findings: Findings;
  /**
   * containerd may forget what it was creating or deleting if it is killed: a shim without a container, or the file system of a container, of any
   * runtime (https://github.com/containerd/containerd/issues/6860).
   */
  readonly containerdKills: number;
}

/** Waits until nothing is left of the sandboxes, and reports what is. */
export async function expectNothingLeft(
  cluster: SoakCluster,
  { before, findings, containerdKills }: LeftOptions,
): Promise<void> {
  let now = before;
  const mayBeMore = (name: keyof NodeState) => (ofContainerd.includes(name) ? 2 * containerdKills : 0);
  const grown = () => counted.filter((name) => now[name] > before[name] + mayBeMore(name));
  const isSettled = async () => {
    now = await nodeStateOf(cluster);
    return grown().length === 0;
  };
  await eventually(isSettled, settleLimitMs).catch(() => {});
  for (const name of ofContainerd) {
    for (let at = before[name]; at < now[name]; at += 1) findings.count(`${name} that a killed containerd has left`);
  }
  for (const name of grown())
    findings.complain(`at the end there are ${now[name]} ${name}, and there were ${before[name]}`);
}

export interface ProgramMemory {
  readonly name: string;
  readonly pid: number;
  readonly bytes: number;
}

const apps = ["rouse-node-agent", "agent-sandbox-controller", "sandbox-router"] as const;

/** The resident memory of the product's programs now. */
export async function memoryOf(cluster: SoakCluster): Promise<readonly ProgramMemory[]> {
  const found: ProgramMemory[] = [];
  for (const app of apps) {
    for (const pod of await replicasOf(cluster, app)) {
      for (const pid of tryPrograms(() => programsOf(pod))) {
        found.push({ name: `${app} ${pid}`, pid, bytes: residentBytes(pid) });
      }
    }
  }
  return found;
}

/** None in a Pod whose program has just been killed. */
function tryPrograms(find: () => readonly number[]): readonly number[] {
  try {
    return find();
  } catch {
    return [];
  }
}

/** Heaps vary. A leak of 400 KB for each cycle exceeds this after 250 cycles. */
const mayGrowBytes = 96 * 2 ** 20;

/** Reports programs that have grown since. One that was started anew has nothing to compare. */
export function compareMemory(
  before: readonly ProgramMemory[],
  after: readonly ProgramMemory[],
  findings: Findings,
): void {
  for (const { name, pid, bytes } of after) {
    const earlier = before.find((each) => each.pid === pid);
    if (earlier && bytes - earlier.bytes > mayGrowBytes) {
      findings.complain(`${name} has grown from ${mebibytes(earlier.bytes)} to ${mebibytes(bytes)} MiB`);
    }
  }
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

export const describeState = (state: NodeState): string => counted.map((name) => `${name} ${state[name]}`).join(", ");

export const describeMemory = (memory: readonly ProgramMemory[]): string =>
  memory.map(({ name, bytes }) => `${name} ${mebibytes(bytes)} MiB`).join(", ");
