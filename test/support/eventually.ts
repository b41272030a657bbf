import { systemClock } from "../../lib/time/clock.ts";

/** Checks that ask an API server cost time of a processor, which the tests beside this one need. */
const usualPauseMs = 20;
/** At first the checks follow faster: most states are reached soon. */
const firstPauseMs = 5;
const soonMs = 100;

/**
 * Waits until the state is reached; fails after the limit, with the source of the check. A state that comes after seconds by itself needs
 * no check each 20 ms.
 */
export async function eventually(reached: () => unknown, limitMs = 8_000, pauseMs = usualPauseMs): Promise<void> {
  const beganMs = systemClock.ticksMs();
  while (!(await reached())) {
    const waitedMs = systemClock.ticksMs() - beganMs;
    if (waitedMs > limitMs) throw new Error(`not reached within ${limitMs} ms: ${reached}`);
    await new Promise((resolve) => setTimeout(resolve, waitedMs < soonMs ? firstPauseMs : pauseMs));
  }
}
