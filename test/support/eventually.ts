import { systemClock } from "../../lib/time/clock.ts";

/** Waits until the state is reached; fails after the limit, with the source of the check. */
export async function eventually(reached: () => unknown, limitMs = 8_000): Promise<void> {
  const endMs = systemClock.ticksMs() + limitMs;
  while (!(await reached())) {
    if (systemClock.ticksMs() > endMs) throw new Error(`not reached within ${limitMs} ms: ${reached}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
