/** One moment by both clocks. */
export interface Instant {
  readonly now: Date;
  /** In monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * Monotonic milliseconds of a past time in an object, such as the start of its Pod. A time in the future, by
 * a clock that is ahead, is now.
 */
export const ticksOf = (time: Date, { now, nowMs }: Instant): number =>
  nowMs - Math.max(now.getTime() - time.getTime(), 0);
