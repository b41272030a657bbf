import { SharedCache } from "../../lib/data/shared-cache.ts";

interface Bucket {
  readonly tokens: number;
  readonly filledMs: number;
}

// The limits of the ecosystem's recorders for one object: a burst of 25, then one in five minutes.
const burst = 25;
const refillMs = 300_000;
const objectsMax = 1_000;

/** Limits the events of each object, so that a flapping one does not hide those of others. */
export class EventRateLimit {
  readonly #buckets = new SharedCache<Bucket>(objectsMax);

  /** Takes a token from the bucket of a namespace's object; false if it is empty. `nowMs` is monotonic. */
  take(object: string, namespace: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: burst, filledMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.filledMs) / refillMs);
    const allowed = tokens >= 1;
    this.#buckets.set(object, namespace, { tokens: allowed ? tokens - 1 : tokens, filledMs: nowMs });
    return allowed;
  }
}
