import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { isSuspensionComplete, sealOf } from "../../api/rules/suspension.ts";
import type { ChildProgram } from "../programs/child-program.ts";
import { openDescriptors, residentBytes } from "../programs/process-cost.ts";
import { home, type TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";
import type { Findings } from "./findings.ts";
import type { Names } from "./names.ts";
import { type Inhabitant, isReachedByName } from "./population.ts";

const quietLimitMs = 120_000;

/** Waits until every sandbox is as its history demands, and complains about those that do not get there. */
export async function expectFinalStates(
  bed: TestBed,
  inhabitants: readonly Inhabitant[],
  findings: Findings,
): Promise<void> {
  let astray: readonly string[] = [];
  await eventually(async () => {
    astray = await strays(bed, inhabitants);
    return astray.length === 0;
  }, quietLimitMs).catch(() => {});
  for (const stray of astray) findings.complain(stray);
}

async function strays(bed: TestBed, inhabitants: readonly Inhabitant[]): Promise<readonly string[]> {
  const { items: sandboxes } = await bed.client.list(sandboxType, { namespace: home });
  const { items: pods } = await bed.client.list(podType, { namespace: home });
  const byName = new Map(sandboxes.map((sandbox) => [sandbox.metadata.name, sandbox]));
  const withPod = new Set(pods.map(({ metadata }) => metadata.name));
  const found: string[] = [];
  for (const { name, kind, final } of inhabitants) {
    const sandbox = byName.get(name);
    const asleep = sandbox !== undefined && isSuspensionComplete(sandbox);
    if (!sandbox || asleep !== (final === "asleep")) found.push(`${name} (${kind}) is not ${final}`);
    if (sandbox && sealOf(sandbox)) found.push(`${name} (${kind}) is still sealed`);
    if (withPod.has(name) !== (final === "awake")) found.push(`${name} (${kind}) ought to be ${final}, by its Pod`);
  }
  if (pods.length !== bed.node.size) found.push(`${pods.length} Pods are stored, and ${bed.node.size} run`);
  return found;
}

/** Waits until every name leads to every activator, and complains about those that do not, or about names of nobody. */
export async function expectNamesToLead(
  bed: TestBed,
  names: Names,
  inhabitants: readonly Inhabitant[],
  findings: Findings,
): Promise<void> {
  const named = inhabitants.filter(isReachedByName);
  const hosts = bed.activators.map(({ host }) => host);
  const astray = () => named.filter(({ name }) => !names.leadsTo(name, hosts));
  await eventually(() => astray().length === 0, quietLimitMs).catch(() => {});
  for (const { name } of astray()) findings.complain(`the name of ${name} does not lead to all activators`);
  if (names.size !== named.length) findings.complain(`${names.size} names are led for ${named.length} sandboxes`);
}

export interface Usage {
  readonly name: string;
  readonly pid: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** What every program holds of the machine now. */
export function usageOf(bed: TestBed): readonly Usage[] {
  const programs: readonly (readonly [string, ChildProgram])[] = [
    ...bed.controllers.map(({ program }, index) => [`controller ${index}`, program] as const),
    ...bed.activators.map(({ name, program }) => [name, program] as const),
  ];
  return programs.map(([name, { pid }]) => ({
    ...{ name, pid },
    residentBytes: residentBytes(pid),
    descriptors: openDescriptors(pid),
  }));
}

/** Heaps breathe; a leak of something for each request shows as more than this over thousands of them. */
const memoryMayGrowBytes = 96 * 1024 * 1024;
const descriptorsMayGrow = 40;

/** Complains about programs that hold more than they did when they were as quiet as now. */
export function compareUsage(before: readonly Usage[], after: readonly Usage[], findings: Findings): void {
  for (const { name, pid, residentBytes, descriptors } of after) {
    const earlier = before.find((usage) => usage.pid === pid);
    if (!earlier) continue;
    const grownBytes = residentBytes - earlier.residentBytes;
    if (grownBytes > memoryMayGrowBytes)
      findings.complain(`${name} has grown by ${Math.round(grownBytes / 2 ** 20)} MiB`);
    const more = descriptors - earlier.descriptors;
    if (more > descriptorsMayGrow) findings.complain(`${name} has ${more} more descriptors open`);
  }
}

const nothing = ["held_requests", 'tcp_connections{state="waiting"}', 'tcp_connections{state="carried"}'];

/** Nothing is held or carried by anybody when nobody asks. */
export async function expectNothingHeld(bed: TestBed, findings: Findings): Promise<void> {
  for (const activator of bed.activators) {
    const lines = (await activator.metrics()).split("\n");
    for (const what of nothing) {
      const line = lines.find((each) => each.startsWith(`rouse_activator_${what} `));
      if (line?.split(" ")[1] !== "0") findings.complain(`${activator.name}, when nobody asks: ${line ?? what}`);
    }
  }
}
