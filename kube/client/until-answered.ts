import type { Logger } from "../../lib/log/log.ts";
import type { Backoff } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { ApiError, ApiUnreachable, mayPass } from "./errors.ts";

export interface UntilAnsweredOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** What is attempted, in logs and errors: "make the certificates of …". */
  readonly what: string;
  /** Ends the attempts. Absent: they end by their limit. */
  readonly signal?: AbortSignal | undefined;
}

const backoff: Backoff = { baseMs: 500, maxMs: 10_000, jitter: 0.2 };
/** As long as an upgrade of an API server, or of a whole control plane, takes. */
export const answerLimitMs = 600_000;

const never = new AbortController().signal;

/**
 * Attempts something that a program cannot start without, again and again while the API server is away or overloaded: a program
 * that ended would come back ever later. What the API server refuses for good ends it at once.
 *
 * @throws ApiUnreachable when the API server could not be reached, or was overloaded, for ten minutes, Error when it refuses, the
 *   signal's reason, or what else `attempt` throws.
 */
export async function untilAnswered<T>(
  { clock, log, what, signal = never }: UntilAnsweredOptions,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const endMs = clock.ticksMs() + answerLimitMs;
  let outcome: (() => T) | undefined;
  const round = async (): Promise<undefined> => {
    try {
      const result = await attempt(signal);
      outcome = () => result;
    } catch (error) {
      if (mayPass(error) && clock.ticksMs() < endMs) throw error;
      outcome = () => {
        throw asReason(error, what);
      };
    }
  };
  const onFailure = (err: unknown, failures: number): undefined => {
    log.warn({ err, failures }, `cannot ${what}: the API server cannot be reached, or is overloaded; retrying`);
  };
  await repeatUntilDone({ clock, signal, backoff, round, onFailure });
  signal.throwIfAborted();
  if (!outcome) throw new Error(`cannot ${what}: it was given up`);
  return outcome();
}

/** The reason for which the program ends: what it was about, and what the API server said. */
function asReason(cause: unknown, what: string): unknown {
  if (mayPass(cause)) {
    const forMinutes = answerLimitMs / 60_000;
    return new ApiUnreachable(
      `cannot ${what}: for ${forMinutes} minutes the API server could not be reached, or was overloaded`,
      { cause },
    );
  }
  return cause instanceof ApiError ? new Error(`cannot ${what}: ${cause.message}`, { cause }) : cause;
}
