import type { Clock } from "../lib/time/clock.ts";

const checkEveryMs = 100;

/**
 * Polls until the condition holds.
 *
 * @throws an error with the text of `complaint` after `limitMs` milliseconds, and any error of `isTrue` at once.
 */
export async function waitUntil(
  isTrue: () => Promise<boolean> | boolean,
  { clock, limitMs, complaint }: { readonly clock: Clock; readonly limitMs: number; readonly complaint: () => string },
): Promise<void> {
  const startMs = clock.ticksMs();
  while (!(await isTrue())) {
    if (clock.ticksMs() - startMs > limitMs) throw new Error(complaint());
    await clock.sleep(checkEveryMs);
  }
}
