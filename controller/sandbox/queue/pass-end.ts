import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SlowRetries } from "../../../lib/queues/slow-retries.ts";
import type { Outcome } from "../../../lib/queues/workers.ts";
import type { Failure } from "../actions.ts";

/** @throws AggregateError if a failure may pass soon. */
export function throwWhatMayPass(failures: readonly Failure[], unwritten: readonly unknown[]): void {
  if (unwritten.length === 0 && failures.every(({ retry }) => retry !== "soon")) return;
  const messages = [...failures.map(({ message }) => message), ...unwritten.map(String)];
  throw new AggregateError([...failures.map(({ cause }) => cause), ...unwritten], messages.join("\n"));
}

/** Milliseconds until what the API server has rejected is to be tried again; undefined: it has rejected nothing. */
export function rejectedAgainMs(
  retries: SlowRetries,
  sandbox: Stored<Sandbox>,
  failures: readonly Failure[],
): number | undefined {
  const key = keyOf(sandbox);
  const { uid, generation = 0 } = sandbox.metadata;
  if (failures.some(({ retry }) => retry === "slowly")) return retries.rejected(key, `${uid} ${generation}`);
  retries.forget(key);
  return undefined;
}

export function earliest(...delaysMs: readonly (number | undefined)[]): Outcome {
  const given = delaysMs.filter((delayMs) => delayMs !== undefined);
  return given.length === 0 ? {} : { requeueAfterMs: Math.min(...given) };
}
