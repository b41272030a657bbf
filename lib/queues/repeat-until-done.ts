import type { Clock } from "../time/clock.ts";
import { type Backoff, backoffDelayMs } from "./backoff.ts";

export interface Repetition {
  readonly clock: Clock;
  /** Ends the repetition, also during a pause. */
  readonly signal: AbortSignal;
  /** The pauses after failures. None is longer than its maximum. */
  readonly backoff: Backoff;
  /** The milliseconds before the first round; default 0. */
  readonly firstInMs?: number;
  /** Does a part of the work. Returns the milliseconds until the next round; undefined: the work is done. */
  readonly round: (signal: AbortSignal) => Promise<number | undefined>;
  /** Is told of each round that failed, with the number of consecutive ones. May return another pause than that of `backoff`. */
  readonly onFailure: (error: unknown, failures: number) => number | undefined;
  /**
   * Waits before each round; default: for the whole time. `anew`: something has changed, so the failures so far do not count, and the
   * pause begins anew as after the first one.
   */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<"over" | "anew">;
}

/**
 * Repeats a round until the work is done, or the signal is aborted. A round that fails is repeated after a pause, which doubles for each
 * consecutive failure. Never rejects. There is one round at a time.
 */
export async function repeatUntilDone({ clock, signal, backoff, ...options }: Repetition): Promise<void> {
  const sleep = async (ms: number): Promise<"over"> => {
    if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
    return "over";
  };
  const { firstInMs = 0, round, onFailure, wait = sleep } = options;
  let failures = 0;
  for (let pauseMs: number | undefined = firstInMs; pauseMs !== undefined; ) {
    const waited = await wait(pauseMs, signal);
    if (signal.aborted) return;
    if (waited === "anew") {
      failures = 0;
      pauseMs = backoffDelayMs(1, backoff);
      continue;
    }
    try {
      pauseMs = await round(signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      pauseMs = onFailure(error, failures) ?? backoffDelayMs(failures, backoff);
    }
  }
}
