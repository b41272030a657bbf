import { waitUntil } from "../../../cluster/wait.ts";
import { systemClock } from "../../../lib/time/clock.ts";

/**
 * Waits until the state is reached, and resolves with the result of the check. The limit is for a busy machine:
 * it detects a state that never comes, not one that comes late.
 */
export async function eventually<T>(reached: () => T | Promise<T>, limitMs = 45_000): Promise<NonNullable<T>> {
  let answer: T | undefined;
  const isReached = async () => {
    answer = await reached();
    return Boolean(answer);
  };
  const complaint = () => `not reached within ${limitMs} ms: ${reached}`;
  await waitUntil(isReached, { clock: systemClock, limitMs, complaint });
  return answer as NonNullable<T>;
}
