import type { Clock } from "../../lib/clock.ts";
import { ReplenishHold } from "./replenish-hold.ts";
import type { WarmPoolSettings } from "./settings.ts";
import { TokenBucket } from "./token-bucket.ts";

/** What is known of a pool from earlier passes; lost with the process, and then it begins anew. */
export class PoolMemory {
  readonly uid: string;
  readonly bucket: TokenBucket;
  readonly hold: ReplenishHold;
  /** Whether the pool was told to make no progress. */
  notProgressing = false;

  constructor(uid: string, settings: WarmPoolSettings, clock: Clock) {
    this.uid = uid;
    this.bucket = new TokenBucket(settings.maxRefillPerSecond, clock);
    this.hold = new ReplenishHold(settings.replenishDelayMs, clock);
  }
}
