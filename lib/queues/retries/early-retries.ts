import type { Clock, Timer } from "../../time/clock.ts";
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
  readonly #clock: Clock;
  readonly #ofGroups: TokenBuckets;
  readonly #ofAll: TokenBuckets;
  /** Keys whose early retry has not begun, each with the timer of the permit of its group. */
  readonly #permitted = new Map<string, Timer | undefined>();

  constructor({ groupOf, perSecondAndGroup, perSecond }: RetryRates, clock: Clock) {
    this.#groupOf = groupOf;
    this.#clock = clock;
    this.#ofGroups = new TokenBuckets(
      { perSecond: perSecondAndGroup, burst: (perSecondAndGroup * burstMs) / 1_000 },
      clock,
    );
    this.#ofAll = new TokenBuckets({ perSecond, burst: perSecond }, clock);
  }

  /**
   * Calls back with the milliseconds until the key may be retried, once its group has a permit for it. Never, if that would be later
   * than in `leftMs` milliseconds, or the key has a permit already.
   */
  take(key: string, leftMs: number, onPermit: (waitMs: number) => void): void {
    if (this.#permitted.has(key)) return;
    const waitMs = this.#ofGroups.take(this.#groupOf(key), leftMs);
    if (waitMs === undefined) return;
    // The rate of all counts a retry when its group has the permit: the line of one group takes nothing from others.
    const ask = () => this.#askAll(key, leftMs - waitMs, onPermit);
    if (waitMs > 0) this.#permitted.set(key, this.#clock.after(waitMs, ask));
    else ask();
  }

  #askAll(key: string, leftMs: number, onPermit: (waitMs: number) => void): void {
    const waitMs = this.#ofAll.take("", leftMs);
    if (waitMs === undefined) {
      this.#permitted.delete(key);
      this.#ofGroups.giveBack(this.#groupOf(key));
      return;
    }
    this.#permitted.set(key, undefined);
    onPermit(waitMs);
  }

  /** A pass of the key begins. */
  begun(key: string): void {
    this.#permitted.get(key)?.cancel();
    this.#permitted.delete(key);
  }

  close(): void {
    for (const key of [...this.#permitted.keys()]) this.begun(key);
  }
}
