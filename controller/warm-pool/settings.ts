/** What may be set about all pools of a cluster. */
export interface WarmPoolSettings {
  /** Sandboxes created, completed or deleted for one pool in one pass, so that a large pool does not delay the others. */
  readonly maxBatch: number;
  /** How long a pool that has lost members waits before it makes new ones; 0: not at all. */
  readonly replenishDelayMs: number;
  /** Sandboxes made per second and pool; 0: without limit. */
  readonly maxRefillPerSecond: number;
  /** How long a member may take to become ready. */
  readonly readinessGraceMs: number;
  /** The interval of reconciles of a pool that makes no progress. */
  readonly notProgressingRecheckMs: number;
  /** Whether the cluster's autoscaler may evict unclaimed members. */
  readonly evictable: boolean;
}
