import type { Clock } from "../../lib/time/clock.ts";
import { MemberAges } from "./member-ages.ts";
import { FirstLook } from "./resize/first-look.ts";
import { ReplenishDelay } from "./resize/replenish-delay.ts";
import { TokenBucket } from "./resize/token-bucket.ts";
import type { WarmPoolSettings } from "./settings.ts";
import { ReadinessPatience } from "./status/readiness-patience.ts";

/** The memory of earlier reconciles of a pool; lost with the process. */
export class PoolMemory {
  readonly uid: string;
  readonly bucket: TokenBucket;
  readonly hold: ReplenishDelay;
  readonly patience: ReadinessPatience;
  readonly ages: MemberAges;
  readonly firstLook: FirstLook;
  /** UIDs of members whose last write failed. */
  readonly refused = new Set<string>();
  /** Whether the pool was reported as not progressing. */
  notProgressing = false;
  readonly #clock: Clock;
  #gapSince: number | undefined;

  constructor(uid: string, settings: WarmPoolSettings, clock: Clock) {
    this.uid = uid;
    this.#clock = clock;
    this.bucket = new TokenBucket(settings.maxRefillPerSecond, clock);
    this.hold = new ReplenishDelay(settings.replenishDelayMs, clock);
    this.ages = new MemberAges(clock);
    this.firstLook = new FirstLook(clock);
    this.patience = new ReadinessPatience(settings.readinessGraceMs);
  }

  /** For how many milliseconds the template has been seen without its network policy; 0 where it has it. */
  gapMs(isOpen: boolean): number {
    if (!isOpen) this.#gapSince = undefined;
    else this.#gapSince ??= this.#clock.ticksMs();
    return this.#gapSince === undefined ? 0 : this.#clock.ticksMs() - this.#gapSince;
  }
}
