import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import type { TestBed } from "../sleep/test-bed.ts";
import { expectNothingHeld } from "../soak/audit.ts";
import { Findings as SoakFindings } from "../soak/findings.ts";
import { eventually } from "../support/eventually.ts";
import type { Findings } from "./findings.ts";

/** What one process of the activator holds. */
export interface Census {
  /** After a collection of garbage. */
  readonly heapBytes: number;
  readonly descriptors: number;
  /** Sockets of clients and sandboxes. */
  readonly sockets: number;
  /** Read buffers that are lent. */
  readonly loans: number;
  /** Living objects, by class. */
  readonly objects: Readonly<Record<string, number>>;
}

export interface Count extends Census {
  readonly series: number;
}

export const censusPort = 8099;

export async function countOf(activator: ActivatorReplica): Promise<Count> {
  const page = await fetch(`http://${activator.host}:${censusPort}/`);
  const census: Census = JSON.parse(await page.text());
  const metrics = (await activator.metrics()).split("\n");
  return { ...census, series: metrics.filter((line) => line !== "" && !line.startsWith("#")).length };
}

/** What optimised code, tables of shapes and the like add to a heap that has seen everything once. */
const heapMayGrowBytes = 16 * 1024 * 1024;
/** Keep-alive connections to the API server. */
const descriptorsMayGrow = 8;
/** The last ones of which optimised code may know until a heap is taken apart; a leak has one for each connection. */
const objectsMayStay = 20;
/** For each method and status, in buckets, that the plans can lead to, and for each reason of an error. */
const seriesMayGrow = 400;
const restLimitMs = 12_000;

/** Waits until the activator is as it was before all traffic, and complains about what is not. */
export async function expectAsBefore(bed: TestBed, before: Count, findings: Findings): Promise<void> {
  const [activator] = bed.activators;
  if (!activator) throw new Error("there is no activator");
  let left: readonly string[] = [];
  await eventually(async () => {
    left = leftBy(before, await countOf(activator));
    return left.length === 0;
  }, restLimitMs).catch(() => {});
  const sent = "all connections have ended";
  for (const came of left) {
    findings.complain("at the end", {
      what: `left behind: ${came.replace(/\d+/g, "N")}`,
      sent,
      expected: "as before",
      came,
    });
  }
  const held = new SoakFindings(() => {});
  await expectNothingHeld(bed, held);
  for (const came of held.wrong)
    findings.complain("at the end", { what: "something is held", sent, expected: "nothing", came });
}

function leftBy(before: Count, after: Count): readonly string[] {
  const found: string[] = [];
  const compare = (what: string, was: number, is: number, mayGrow: number) => {
    if (is > was + mayGrow) found.push(`${what}: ${is}, and ${was} before`);
  };
  for (const [name, count] of Object.entries(after.objects)) {
    compare(`objects of ${name}`, before.objects[name] ?? 0, count, objectsMayStay);
  }
  compare("read buffers lent", before.loans, after.loans, 0);
  compare("sockets of clients and sandboxes", before.sockets, after.sockets, 0);
  compare("descriptors", before.descriptors, after.descriptors, descriptorsMayGrow);
  compare("series of metrics", before.series, after.series, seriesMayGrow);
  compare("KiB of heap", before.heapBytes >> 10, after.heapBytes >> 10, heapMayGrowBytes >> 10);
  return found;
}
