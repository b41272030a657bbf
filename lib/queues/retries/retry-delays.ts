import type { Backoff } from "../backoff.ts";
import type { RetryRates } from "./early-retries.ts";
import type { FailureCounts } from "./failure-counts.ts";

/** Selects keys with a shorter maximum retry delay, because a client waits for them. */
export interface RetryCeiling extends RetryRates {
  /** The maximum delay in milliseconds, before jitter; undefined: that of the backoff. */
  readonly ceilingMs: (key: string) => number | undefined;
}

/** Keys that have failed together for long do not return together. */
const ceilingJitter = 0.5;

/** The backoff of a key whose last pass failed. `usual`: that of a key without a ceiling. */
export function backoffOf(key: string, usual: Backoff, counts: FailureCounts, retries: RetryCeiling): Backoff {
  const ceilingMs = retries.ceilingMs(key);
  if (ceilingMs === undefined) return usual;
  const { perSecond, perSecondAndGroup } = retries;
  // Each group gets retries at its own rate. If these exceed the total rate together, each gets its share of that.
  const groupMax = Math.ceil((perSecondAndGroup * ceilingMs) / 1_000);
  const wantedPerSecond = (counts.inAllGroups(groupMax) / ceilingMs) * 1_000;
  const crowding = Math.max(wantedPerSecond / perSecond, 1);
  const ownMs = Math.max((counts.inGroupOf(key) / perSecondAndGroup) * 1_000, ceilingMs);
  const maxMs = ownMs * crowding;
  const { baseMs } = usual;
  if (maxMs > usual.maxMs || baseMs * 2 ** Math.min(counts.of(key) - 1, 52) < maxMs) return usual;
  return { baseMs, maxMs, jitter: ceilingJitter };
}
