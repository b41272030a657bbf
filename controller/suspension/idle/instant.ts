/** One moment by both clocks. */
export interface Instant {
  readonly now: Date;
  /** In monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * Monotonic milliseconds of a moment in the past that an object tells, such as the start of its Pod. One in the future, by
 * a clock that is ahead, is now.
 */
export const ticksOf = (time: string, { now, nowMs }: Instant): number =>
  nowMs - Math.max(now.getTime() - new Date(time).getTime(), 0);
