import type { Clock } from "../time/clock.ts";
import { type Backoff, backoffDelayMs } from "./backoff.ts";
import { groupOf } from "./fair-keys.ts";
import { FailureCounts } from "./retries/failure-counts.ts";

/** The pause after each rejection. */
const slowBackoff: Backoff = { baseMs: 10_000, maxMs: 600_000, jitter: 0.2 };
/** The maximum rate of these retries, of a namespace and of all together. */
const perSecondAndGroup = 2;
const perSecond = 20;
/** As many keys of one group are retried at the maximum delay. Further ones wait for each other, not for other groups. */
const groupMax = (perSecondAndGroup * slowBackoff.maxMs) / 1_000;

interface Rejection {
  readonly subject: string;
  readonly count: number;
  readonly dueMs: number;
}

/**
 * When a request that the API server has rejected is tried again: seldom, as it will most likely be rejected again. But it need not: the
 * rules of the server, such as an admission policy, may change, and no watch shows that. The delays grow with the number of rejected keys.
 */
export class SlowRetries {
  readonly #clock: Clock;
  readonly #rejections = new Map<string, Rejection>();
  readonly #counts = new FailureCounts(groupOf);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of rejected keys. */
  get size(): number {
    return this.#rejections.size;
  }

  /**
   * After a pass over an object: the milliseconds until its request is to be tried again; undefined if none was rejected. An edit of the
   * object begins anew.
   */
  afterPass(
    key: string,
    { uid, generation = 0 }: { readonly uid: string; readonly generation?: number },
    isRejected: boolean,
  ): number | undefined {
    if (isRejected) return this.rejected(key, `${uid} ${generation}`);
    this.forget(key);
    return undefined;
  }

  /**
   * The request for this key was rejected. Returns the milliseconds until it is to be tried again. `subject`: what was asked for, as a
   * generation; another subject begins anew. A rejection before its time, as in a pass for another reason, changes nothing.
   */
  rejected(key: string, subject: string): number {
    const nowMs = this.#clock.ticksMs();
    const known = this.#rejections.get(key);
    const before = known?.subject === subject ? known : undefined;
    if (before && nowMs < before.dueMs) return before.dueMs - nowMs;
    if (!known) this.#counts.add(key);
    const count = (before?.count ?? 0) + 1;
    const delayMs = backoffDelayMs(count, this.#backoffOf(key));
    this.#rejections.set(key, { subject, count, dueMs: nowMs + delayMs });
    return delayMs;
  }

  /** The request was accepted or is not made any more, or the object is gone. */
  forget(key: string): void {
    if (this.#rejections.delete(key)) this.#counts.delete(key);
  }

  /** No delay is shorter than the share of this key in the rates. */
  #backoffOf(key: string): Backoff {
    const { baseMs, maxMs, jitter } = slowBackoff;
    const allMs = (this.#counts.inAllGroups(groupMax) / perSecond) * 1_000;
    const groupMs = (this.#counts.inGroupOf(key) / perSecondAndGroup) * 1_000;
    const shareMs = Math.max(allMs, groupMs * Math.max(allMs / maxMs, 1));
    return { baseMs: Math.max(baseMs, shareMs), maxMs: Math.max(maxMs, shareMs), jitter };
  }
}
