import { systemClock } from "../../../../lib/time/clock.ts";

/** What became of requests that were sent one after the other. */
export interface Traffic extends AsyncDisposable {
  readonly answered: number;
  readonly slowestMs: number;
  /** What the others failed with, as often as it happened. */
  readonly failures: readonly string[];
  /** Sends no more, and waits for the last. */
  stop(): Promise<void>;
}

const pauseMs = 20;

/** What a warm request may take where nothing is wrong: a packet that a busy node drops costs one second. */
export const noticedMs = 3_000;

/** Asks again and again, one request at a time, until it is stopped. */
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

/** The code of a connection's failure, or what was said. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.message;
}
