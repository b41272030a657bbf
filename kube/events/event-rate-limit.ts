import { SharedCache } from "../../lib/data/shared-cache.ts";

interface Bucket {
  readonly tokens: number;
  readonly filledMs: number;
}

// The limits of the ecosystem's recorders for one object: a burst of 25, then one in five minutes. Here warnings have their own.
const burst = 25;
const refillMs = 300_000;
const bucketsMax = 2_000;

/** Limits the events of each type about each object, so that a flapping one does not hide those of others. */
export class EventRateLimit {
  readonly #buckets = new SharedCache<Bucket>(bucketsMax);

  /** Takes a token from a bucket of a namespace; false if it is empty. `nowMs` is monotonic. */
  take(bucketKey: string, namespace: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(bucketKey) ?? { tokens: burst, filledMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.filledMs) / refillMs);
    const allowed = tokens >= 1;
    this.#buckets.set(bucketKey, namespace, { tokens: allowed ? tokens - 1 : tokens, filledMs: nowMs });
    return allowed;
  }
}
