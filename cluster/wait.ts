import type { Clock } from "../lib/clock.ts";

const lookEveryMs = 100;

/**
 * Asks until the answer is yes.
 *
 * @throws with what `complaint` says after `limitMs` milliseconds, and whatever `isTrue` throws at once.
 */
export async function waitUntil(
  isTrue: () => Promise<boolean> | boolean,
  { clock, limitMs, complaint }: { readonly clock: Clock; readonly limitMs: number; readonly complaint: () => string },
): Promise<void> {
  const startMs = clock.ticksMs();
  while (!(await isTrue())) {
    if (clock.ticksMs() - startMs > limitMs) throw new Error(complaint());
    await clock.sleep(lookEveryMs);
  }
}
