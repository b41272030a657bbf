import { onAbort } from "../../../lib/guard/on-abort.ts";
import { abortable } from "../../../lib/process/lifecycle.ts";
import type { Clock, Timer } from "../../../lib/time/clock.ts";

/** A container whose start takes longer tells so. */
export const lateMs = 30_000;
/** What a stopped container has begun to prepare has so long to end, so that it does not write into what is being removed. */
export const leaveMs = 2_000;

/**
 * Settles as `work` does, or rejects with the signal's reason `leaveMs` after an abort: a call of the system may never return, as on a
 * file system of a network. `late` is called once if the work takes longer than `lateMs`; it goes on.
 */
export async function untilLeft<T>(
  work: Promise<T>,
  { clock, signal, late }: { readonly clock: Clock; readonly signal: AbortSignal; readonly late: () => void },
): Promise<T> {
  const left = new AbortController();
  let leaving: Timer | undefined;
  const leave = () => {
    leaving = clock.after(leaveMs, () => left.abort(signal.reason));
  };
  using _late = clock.after(lateMs, () => signal.aborted || late());
  using _stopped = onAbort(signal, leave);
  if (signal.aborted) leave();
  try {
    return await abortable(work, left.signal);
  } finally {
    leaving?.cancel();
  }
}
