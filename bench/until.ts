import { systemClock } from "../lib/time/clock.ts";

const longestMs = 300_000;

/** Checks every `everyMs` until the state is reached; rejects after five minutes, with the source of the check. */
export async function until(reached: () => boolean | Promise<boolean>, everyMs = 50): Promise<void> {
  const endMs = systemClock.ticksMs() + longestMs;
  while (!(await reached())) {
    if (systemClock.ticksMs() > endMs) throw new Error(`not reached within ${longestMs} ms: ${reached}`);
    await systemClock.sleep(everyMs);
  }
}
