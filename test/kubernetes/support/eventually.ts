import { waitUntil } from "../../../cluster/wait.ts";
import { systemClock } from "../../../lib/clock.ts";

/**
 * Waits until the state is reached. The limit is for a machine that has much else to do: it says that something never comes,
 * not how soon it has to.
 */
export function eventually(reached: () => unknown, limitMs = 45_000): Promise<void> {
  const complaint = () => `not reached within ${limitMs} ms: ${reached}`;
  return waitUntil(async () => Boolean(await reached()), { clock: systemClock, limitMs, complaint });
}
