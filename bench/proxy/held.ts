import { setTimeout as delay } from "node:timers/promises";
import { residentBytes } from "../../test/programs/process-cost.ts";
import { runLoad } from "./load.ts";
import { ports } from "./ports.ts";
import { holdCrowd } from "./raw-client-process.ts";
import type { Running } from "./subjects.ts";

export const heldMax = 10_000;
/** The loop is looked at in steps of so many milliseconds, which are part of what is measured. */
const loopStepMs = 10;

export interface HeldCost {
  readonly kibibytesEach: number;
  /** From the moment that they may go to the last answer. */
  readonly releasedMs: number;
  /** Longest time in which the loop did nothing else; of the activator alone, who tells. */
  readonly blockedMs?: number;
  readonly failures: number;
}

/**
 * What a crowd of held requests adds to a proxy that has been serving, and how long it takes to let it go. The activator
 * holds them itself, for a port that is closed; the others hold what is more than 256 to a back-end that says nothing.
 */
export async function measureHeld(proxy: string, { pid }: Running, directory: string): Promise<HeldCost> {
  await runLoad({ path: "/", connections: 64 }, 2, directory);
  const before = residentBytes(pid);
  const tellsLag = proxy === "rouse" || proxy === "before";
  const crowd = await holdCrowd(heldMax, tellsLag ? "closed" : "silent");
  await delay(3_000);
  const kibibytesEach = (residentBytes(pid) - before) / heldMax / 1024;
  if (tellsLag) await longestLagMs(); // each reading begins anew
  const { good, releasedMs } = await crowd.release();
  if (tellsLag) await delay(1_500); // the page of metrics is made once a second at most
  const cost = { kibibytesEach, releasedMs, failures: heldMax - good };
  return tellsLag ? { ...cost, blockedMs: (await longestLagMs()) - loopStepMs } : cost;
}

async function longestLagMs(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ports.ops}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000;
}
