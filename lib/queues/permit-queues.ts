import { onAbort } from "../guard/on-abort.ts";
import type { Clock, Timer } from "../time/clock.ts";
import type { Rate } from "./token-buckets.ts";

/** One key's permits, and the requests for the next ones, in the order in which they came. */
interface Bucket {
  /** The number at `atMs`; more were added since. */
  permits: number;
  atMs: number;
  readonly line: Set<() => void>;
  timer: Timer | undefined;
}

/** Sums of fractions of a permit are not exact. */
const whole = 1 - 1e-9;

/**
 * One bucket of permits for each key, with a queue. A permit is taken when it is granted, never in advance: a request
 * that leaves the queue takes none, and those behind it move up. A key whose bucket is full again uses no memory.
 */
export class PermitQueues {
  readonly #rate: Rate;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /**
   * Resolves when a permit is granted; rejects with the signal's reason if that is aborted first. Returns undefined,
   * without queueing, if the permit would come later than in `longestMs` milliseconds: this bounds the queue as well.
   */
  take(key: string, longestMs: number, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    const bucket = this.#filled(key);
    const { line } = bucket;
    if (line.size === 0 && bucket.permits >= whole) {
      bucket.permits -= 1;
      return Promise.resolve();
    }
    if (this.#waitMs(bucket, line.size + 1) > longestMs) return undefined;
    return new Promise((resolve, reject) => {
      const grant = () => {
        leaving[Symbol.dispose]();
        resolve();
      };
      const leaving = onAbort(signal, () => {
        line.delete(grant);
        if (line.size === 0) bucket.timer?.cancel();
        if (line.size === 0) bucket.timer = undefined;
        reject(signal.reason);
      });
      line.add(grant);
      this.#arm(bucket);
    });
  }

  #arm(bucket: Bucket): void {
    if (bucket.timer || bucket.line.size === 0) return;
    bucket.timer = this.#clock.after(this.#waitMs(bucket, 1), () => {
      bucket.timer = undefined;
      this.#grant(bucket);
    });
  }

  #grant(bucket: Bucket): void {
    this.#fill(bucket);
    for (const grant of bucket.line) {
      if (bucket.permits < whole) break;
      bucket.permits -= 1;
      bucket.line.delete(grant);
      grant();
    }
    this.#arm(bucket);
  }

  /** Milliseconds from the last fill until this number of permits is available. */
  #waitMs({ permits }: Bucket, count: number): number {
    return Math.max(((count - permits) / this.#rate.perSecond) * 1_000, 0);
  }

  #filled(key: string): Bucket {
    const nowMs = this.#clock.ticksMs();
    this.#forgetFull(nowMs);
    const bucket = this.#buckets.get(key) ?? {
      permits: this.#rate.burst,
      atMs: nowMs,
      line: new Set(),
      timer: undefined,
    };
    this.#fill(bucket);
    this.#buckets.delete(key); // then append it, so that the oldest come first
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #fill(bucket: Bucket): void {
    const nowMs = this.#clock.ticksMs();
    bucket.permits = this.#permitsAt(bucket, nowMs);
    bucket.atMs = nowMs;
  }

  #permitsAt({ permits, atMs }: Bucket, nowMs: number): number {
    const { perSecond, burst } = this.#rate;
    return Math.min(burst, permits + ((nowMs - atMs) / 1_000) * perSecond);
  }

  #forgetFull(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (bucket.line.size > 0 || this.#permitsAt(bucket, nowMs) < this.#rate.burst) return;
      this.#buckets.delete(key);
    }
  }
}
