import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { isSuspensionComplete, sealOf } from "../../api/rules/suspension.ts";
import type { ChildProgram } from "../programs/child-program.ts";
import { openDescriptors, residentBytes } from "../programs/process-cost.ts";
import { home, type TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";
import type { Findings } from "./findings.ts";
import type { Names } from "./names.ts";
import { isReachedByName, type SoakSandbox } from "./sandboxes.ts";

const quietLimitMs = 120_000;

/** Waits until every sandbox is in its final state, and reports each that is not. */
export async function expectFinalStates(
  bed: TestBed,
  soakSandboxes: readonly SoakSandbox[],
  findings: Findings,
): Promise<void> {
  let wrong: readonly string[] = [];
  await eventually(async () => {
    wrong = await wrongStates(bed, soakSandboxes);
    return wrong.length === 0;
  }, quietLimitMs).catch(() => {});
  for (const each of wrong) findings.complain(each);
}

async function wrongStates(bed: TestBed, soakSandboxes: readonly SoakSandbox[]): Promise<readonly string[]> {
  const { items: sandboxes } = await bed.client.list(sandboxType, { namespace: home });
  const { items: pods } = await bed.client.list(podType, { namespace: home });
  const byName = new Map(sandboxes.map((sandbox) => [sandbox.metadata.name, sandbox]));
  const withPod = new Set(pods.map(({ metadata }) => metadata.name));
  const found: string[] = [];
  for (const { name, kind, final } of soakSandboxes) {
    const sandbox = byName.get(name);
    const asleep = sandbox !== undefined && isSuspensionComplete(sandbox);
    if (!sandbox || asleep !== (final === "asleep")) found.push(`${name} (${kind}) is not ${final}`);
    if (sandbox && sealOf(sandbox)) found.push(`${name} (${kind}) is still sealed`);
    if (withPod.has(name) !== (final === "awake")) found.push(`${name} (${kind}) should be ${final}, by its Pod`);
  }
  if (pods.length !== bed.node.size) found.push(`${pods.length} Pods are stored, and ${bed.node.size} run`);
  return found;
}

/** Waits until every Service leads to every activator. Reports each that does not, and EndpointSlices without a sandbox. */
export async function expectNamesToLead(
  bed: TestBed,
  names: Names,
  soakSandboxes: readonly SoakSandbox[],
  findings: Findings,
): Promise<void> {
  const named = soakSandboxes.filter(isReachedByName);
  const hosts = bed.activators.map(({ host }) => host);
  const wrong = () => named.filter(({ name }) => !names.leadsTo(name, hosts));
  await eventually(() => wrong().length === 0, quietLimitMs).catch(() => {});
  for (const { name } of wrong()) findings.complain(`the Service of ${name} does not lead to all activators`);
  if (names.size !== named.length)
    findings.complain(`there are ${names.size} EndpointSlices for ${named.length} sandboxes`);
}

export interface Usage {
  readonly name: string;
  readonly pid: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** The memory and descriptors of every program now. */
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

/** Heaps vary. A leak for each request exceeds this after thousands of requests. */
const memoryMayGrowBytes = 96 * 1024 * 1024;
const descriptorsMayGrow = 40;

/** Reports programs that hold more memory or descriptors than at the last idle moment. */
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

const nothing = ["held_requests", 'tcp_connections{state="waiting"}', 'tcp_connections{state="relayed"}'];

/** Reports activators that hold or proxy anything although no client is connected. */
export async function expectNothingHeld(bed: TestBed, findings: Findings): Promise<void> {
  for (const activator of bed.activators) {
    const lines = (await activator.metrics()).split("\n");
    for (const what of nothing) {
      const line = lines.find((each) => each.startsWith(`rouse_activator_${what} `));
      if (line?.split(" ")[1] !== "0") findings.complain(`${activator.name}, without clients: ${line ?? what}`);
    }
  }
}
