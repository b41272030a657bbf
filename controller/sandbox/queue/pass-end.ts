import type { Outcome } from "../../../lib/queues/workers.ts";
import type { Failure } from "../actions.ts";

/** @throws AggregateError unless every failure stays until something changes. */
export function throwWhatMayPass(failures: readonly Failure[], unwritten: readonly unknown[]): void {
  if (unwritten.length === 0 && failures.every(({ untilChanged }) => untilChanged)) return;
  const messages = [...failures.map(({ message }) => message), ...unwritten.map(String)];
  throw new AggregateError([...failures.map(({ cause }) => cause), ...unwritten], messages.join("\n"));
}

export function earliest(...delaysMs: readonly (number | undefined)[]): Outcome {
  const given = delaysMs.filter((delayMs) => delayMs !== undefined);
  return given.length === 0 ? {} : { requeueAfterMs: Math.min(...given) };
}
