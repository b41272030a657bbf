import type { Outcome } from "../../../lib/queues/workers.ts";
import type { Failure } from "../actions.ts";

/** @throws AggregateError if a failure may pass soon. */
export function throwWhatMayPass(failures: readonly Failure[], unwritten: readonly unknown[]): void {
  if (unwritten.length === 0 && failures.every(({ retry }) => retry !== "soon")) return;
  const messages = [...failures.map(({ message }) => message), ...unwritten.map(String)];
  throw new AggregateError([...failures.map(({ cause }) => cause), ...unwritten], messages.join("\n"));
}

/** Whether the API server has rejected what the pass asked for. */
export const areRejected = (failures: readonly Failure[]): boolean => failures.some(({ retry }) => retry === "slowly");

export function earliest(...delaysMs: readonly (number | undefined)[]): Outcome {
  const given = delaysMs.filter((delayMs) => delayMs !== undefined);
  return given.length === 0 ? {} : { requeueAfterMs: Math.min(...given) };
}

/** The end of a pass whose failures will not pass soon: the earliest of these delays. */
export const nextPass = (failures: readonly Failure[], delaysMs: readonly (number | undefined)[]): Outcome => ({
  ...earliest(...delaysMs),
  ...(areRejected(failures) && { isRejected: true }),
});
