import { systemClock } from "../../../lib/time/clock.ts";
import type { ActivatorReplica } from "../../sleep/activator-replica.ts";
import type { TestBed } from "../../sleep/test-bed.ts";
import { expectNothingHeld } from "../../soak/audit.ts";
import { Findings as SoakFindings } from "../../soak/findings.ts";
import { eventually } from "../../support/eventually.ts";
import type { Findings } from "../findings.ts";
import { kernelQueues } from "./socket-states.ts";

/** The resources that one activator process holds. */
export interface ProcessCounts {
  /** After garbage collection. */
  readonly heapBytes: number;
  /** Buffers, and what nghttp2 keeps of connections, after garbage collection. */
  readonly externalBytes: number;
  /** The most memory that the process has had. */
  readonly peakBytes: number;
  readonly descriptors: number;
  /** Sockets of clients and sandboxes. */
  readonly sockets: number;
  /** Read buffers in use. */
  readonly loans: number;
  /** Live objects, by class. */
  readonly objects: Readonly<Record<string, number>>;
}

export interface ResourceCounts extends ProcessCounts {
  readonly series: number;
}

export const countsPort = 8099;

export async function readCounts(activator: ActivatorReplica): Promise<ResourceCounts> {
  const page = await fetch(`http://${activator.host}:${countsPort}/`);
  const counts: ProcessCounts = JSON.parse(await page.text());
  const metrics = (await activator.metrics()).split("\n");
  return { ...counts, series: metrics.filter((line) => line !== "" && !line.startsWith("#")).length };
}

/** The open sockets of the activator at this address, and the bytes that wait in the kernel. */
export async function socketStates(host: string): Promise<string> {
  const page = await fetch(`http://${host}:${countsPort}/sockets`);
  return ["sockets of the activator:", await page.text(), "queues of the kernel:", ...kernelQueues()].join("\n  ");
}

/** Optimised code and other internals of V8 may add this much after the first traffic. */
const heapMayGrowBytes = 16 * 1024 * 1024;
/** Read buffers that wait for the next connections. */
const externalMayGrowBytes = 16 * 1024 * 1024;
/** Keep-alive connections to the API server. */
const descriptorsMayGrow = 8;
/** Writes what keeps objects alive into a file on the activator's machine, and gives the file's path. */
async function heapSnapshot(host: string): Promise<string> {
  const page = await fetch(`http://${host}:${countsPort}/snapshot`);
  return `heap snapshot of the activator: ${await page.text()}`;
}

/** V8 may keep the last few objects alive. A leak has one object for each connection. */
const objectsMayStay = 20;
/** Series for each method, status and error reason that the plans can cause. */
const seriesMayGrow = 400;
/** What has not changed for so long is left. A busy machine may take longer for all. */
const restLimitMs = 12_000;
const fallLimitMs = 60_000;
const countEveryMs = 200;

/** Waits until the activator holds what it held before all traffic, and reports each leak. */
export async function expectNoLeak(bed: TestBed, before: ResourceCounts, findings: Findings): Promise<void> {
  const [activator] = bed.activators;
  if (!activator) throw new Error("there is no activator");
  let left: readonly string[] = [];
  let peakBytes = 0;
  let changedMs = systemClock.ticksMs();
  const isSettled = async () => {
    const now = await readCounts(activator);
    const found = leftBy(before, now);
    if (found.join() !== left.join()) changedMs = systemClock.ticksMs();
    left = found;
    peakBytes = now.peakBytes;
    return left.length === 0 || systemClock.ticksMs() - changedMs > restLimitMs;
  };
  await eventually(isSettled, fallLimitMs, countEveryMs).catch(() => {});
  findings.count("MiB that the activator had at most", peakBytes / 2 ** 20);
  if (left.length > 0) findings.note(await socketStates(activator.host));
  if (left.some((each) => each.startsWith("objects"))) findings.note(await heapSnapshot(activator.host));
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

function leftBy(before: ResourceCounts, after: ResourceCounts): readonly string[] {
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
  compare("KiB outside the heap", before.externalBytes >> 10, after.externalBytes >> 10, externalMayGrowBytes >> 10);
  compare("KiB of heap", before.heapBytes >> 10, after.heapBytes >> 10, heapMayGrowBytes >> 10);
  return found;
}
