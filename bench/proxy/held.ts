import { setTimeout as delay } from "node:timers/promises";
import { residentBytes } from "../../test/programs/process-cost.ts";
import { http2Loads, runHttp2Load } from "./http2-load.ts";
import { runLoad, warmSeconds } from "./load.ts";
import { ports } from "./ports.ts";
import { holdRequests } from "./raw-client-process.ts";
import type { Running } from "./subjects.ts";

export const heldMax = 10_000;
/** The resolution of the event loop's delay histogram in milliseconds, which is part of each measured delay. */
const loopStepMs = 10;

export interface HeldCost {
  readonly kibibytesEach: number;
  /** From the release to the last response. */
  readonly releasedMs: number;
  /** The longest time for which the event loop was blocked. Only the activator reports it. */
  readonly blockedMs?: number;
  readonly failures: number;
}

export interface HeldSubject extends Pick<Running, "pid"> {
  /** The activator does: in its metrics. */
  readonly reportsLag: boolean;
}

/**
 * The memory that many held requests add to a proxy that has been serving, and how long their release takes. The activator
 * holds them for a port that is closed. The others hold requests beyond 256 to a back-end that does not answer.
 */
export async function measureHeld(
  { pid, reportsLag }: HeldSubject,
  directory: string,
  http2Port?: number,
): Promise<HeldCost> {
  await warm(directory, http2Port);
  const before = residentBytes(pid);
  const client = await holdRequests({ count: heldMax, port: reportsLag ? "closed" : "silent", http2Port });
  await delay(3_000);
  const kibibytesEach = (residentBytes(pid) - before) / heldMax / 1024;
  if (reportsLag) await longestLagMs(); // each reading resets the histogram
  const { good, releasedMs } = await client.release();
  if (reportsLag) await delay(1_500); // the page of metrics is updated at most once a second
  const cost = { kibibytesEach, releasedMs, failures: heldMax - good };
  return reportsLag ? { ...cost, blockedMs: (await longestLagMs()) - loopStepMs } : cost;
}

async function warm(directory: string, http2Port: number | undefined): Promise<void> {
  const load = http2Loads["HTTP/2 GET, 50 connections of 10 streams"];
  if (http2Port === undefined || !load) await runLoad({ path: "/", connections: 64 }, warmSeconds, directory);
  else await runHttp2Load(load, { directory, port: http2Port }, warmSeconds);
}

async function longestLagMs(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ports.ops}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000;
}
