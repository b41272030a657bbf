import { waitUntil } from "../../../cluster/wait.ts";
import { systemClock } from "../../../lib/time/clock.ts";

/**
 * Waits until the state is reached, and resolves with the answer that says so. The limit is for a machine that has much else
 * to do: it says that something never comes, not how soon it has to.
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
