import type { RetryCeiling } from "../../lib/queues/retries/retry-delays.ts";

/** 30 s: as long as a person waits. A disk may be full for long, and what failed meanwhile must not wait as long again. */
const retryMs = 30_000;
/** At most so many retries a second: each asks the full disk for room. */
const perSecond = 100;

/** The retries of the controllers in the API server: each key within 30 s, up to 3,000 that fail at a time. */
export const retryCeiling: RetryCeiling = {
  ceilingMs: () => retryMs,
  groupOf: () => "",
  perSecondAndGroup: perSecond,
  perSecond,
};
