import { groupOf } from "../queues/fair-keys.ts";
import { TokenBuckets } from "../queues/token-buckets.ts";
import type { Clock } from "../time/clock.ts";
import type { Logger } from "./log.ts";

/** The lines of one namespace. A tenant chooses how many of its objects fail, and often how long the text of an error is. */
const linesAtOnce = 20;
const textMax = 1_000;

/** The log of failed reconciles: each namespace has a rate of lines. A line says how many were left out since the one before. */
export class FailureLog {
  readonly #log: Logger;
  readonly #lines: TokenBuckets;
  #leftOut = 0;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#lines = new TokenBuckets({ perSecond: 1, burst: linesAtOnce }, clock);
  }

  failed(key: string, error: unknown, failures: number): void {
    if (this.#lines.take(groupOf(key), 0) === undefined) {
      this.#leftOut += 1;
      return;
    }
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    const fields = { err: inShort(error), key, failures, ...(leftOut > 0 && { leftOut }) };
    this.#log.warn(fields, "reconcile failed; requeued");
  }
}

/** A long text without the stacks and statuses that repeat it. */
function inShort(error: unknown): unknown {
  if (!(error instanceof Error) || error.message.length <= textMax) return error;
  const { name, message } = error;
  return { type: name, message: `${message.slice(0, textMax)}... (${message.length} characters)` };
}
