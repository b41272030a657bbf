import { systemClock } from "../../../../lib/time/clock.ts";

/** The results of requests that were sent one after the other. */
export interface Traffic extends AsyncDisposable {
  readonly answered: number;
  readonly slowestMs: number;
  /** The error of each failed request. */
  readonly failures: readonly string[];
  /** Stops sending, and waits for the last request. */
  stop(): Promise<void>;
}

const pauseMs = 20;

/** The time limit for a warm request without faults: a packet that a busy node drops costs one second. */
export const noticedMs = 3_000;

/** Sends one request after the other until it is stopped. */
export function startTraffic(ask: () => Promise<unknown>): Traffic {
  const seen = { answered: 0, slowestMs: 0, failures: [] as string[] };
  let going = true;
  const run = async () => {
    while (going) {
      const startMs = systemClock.ticksMs();
      await ask().then(
        () => {
          seen.answered++;
          seen.slowestMs = Math.max(seen.slowestMs, systemClock.ticksMs() - startMs);
        },
        (error: unknown) => void seen.failures.push(wordsOf(error)),
      );
      await systemClock.sleep(pauseMs);
    }
  };
  const ended = run();
  const stop = async () => {
    going = false;
    await ended;
  };
  return Object.assign(seen, { stop, [Symbol.asyncDispose]: stop });
}

/** The error code of a connection, or the error message. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.message;
}
