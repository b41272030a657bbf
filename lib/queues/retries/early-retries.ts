import type { Clock } from "../../time/clock.ts";
import { TokenBuckets } from "../token-buckets.ts";

export interface RetryRates {
  /** Failing keys of one group, such as a namespace, do not take the retries of others. */
  readonly groupOf: (key: string) => string;
  /** The maximum rate of retries: the delay grows with the number of failing keys of the group. */
  readonly perSecondAndGroup: number;
  readonly perSecond: number;
}

/** After a rest, a namespace has the retries of so long at once: few namespaces have more objects that wait for the same. */
const burstMs = 5_000;

/**
 * When a failed key may be retried before its time. One event may concern all keys of a namespace, and a tenant may cause one as
 * often as it likes. So these retries have the same rates as those that come in their time.
 */
export class EarlyRetries {
  readonly #groupOf: (key: string) => string;
  readonly #ofGroups: TokenBuckets;
  readonly #ofAll: TokenBuckets;
  /** Keys whose early retry has not begun. */
  readonly #permitted = new Set<string>();

  constructor({ groupOf, perSecondAndGroup, perSecond }: RetryRates, clock: Clock) {
    this.#groupOf = groupOf;
    this.#ofGroups = new TokenBuckets(
      { perSecond: perSecondAndGroup, burst: (perSecondAndGroup * burstMs) / 1_000 },
      clock,
    );
    this.#ofAll = new TokenBuckets({ perSecond, burst: perSecond }, clock);
  }

  /** The milliseconds until the key may be retried; undefined: not before `leftMs`, or that is settled already. */
  take(key: string, leftMs: number): number | undefined {
    if (this.#permitted.has(key)) return undefined;
    const group = this.#groupOf(key);
    const ofGroupMs = this.#ofGroups.take(group, leftMs);
    if (ofGroupMs === undefined) return undefined;
    const ofAllMs = this.#ofAll.take("", leftMs);
    if (ofAllMs === undefined) {
      this.#ofGroups.giveBack(group);
      return undefined;
    }
    this.#permitted.add(key);
    return Math.max(ofGroupMs, ofAllMs);
  }

  /** A pass of the key begins. */
  begun(key: string): void {
    this.#permitted.delete(key);
  }
}
