interface Bucket {
  readonly tokens: number;
  readonly filledMs: number;
}

// What the ecosystem's own recorders allow one object: a burst of 25, then one in five minutes.
const burst = 25;
const refillMs = 300_000;
const objectsMax = 1_000;

/** How many events may be written about each object, so that one that flaps does not bury those of the others. */
export class EventRateLimit {
  readonly #buckets = new Map<string, Bucket>();

  /** Takes one from the object's allowance; false when nothing is left. `nowMs` is monotonic. */
  take(object: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: burst, filledMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.filledMs) / refillMs);
    const allowed = tokens >= 1;
    this.#buckets.delete(object); // so that the map stays in the order of last use
    this.#buckets.set(object, { tokens: allowed ? tokens - 1 : tokens, filledMs: nowMs });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > objectsMax && oldest !== undefined) this.#buckets.delete(oldest);
    return allowed;
  }
}
