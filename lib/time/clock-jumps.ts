import type { Clock, Timer } from "./clock.ts";

/** Both clocks, read at the same moment. */
export interface ClockReading {
  readonly wallMs: number;
  /** Monotonic milliseconds. */
  readonly ticksMs: number;
}

/** NTP corrects a clock in smaller steps than this. A larger step is from an administrator, or a suspended machine. */
const jumpMs = 5_000;

/** The interval of the comparison, and so the maximum delay of a wall-clock deadline after a jump. */
export const jumpNoticedWithinMs = 15_000;

export const readClocks = (clock: Clock): ClockReading => ({
  wallMs: clock.now().getTime(),
  ticksMs: clock.ticksMs(),
});

/** Whether wall time and monotonic time differ by a jump, in either direction. */
export const hasJumped = (before: ClockReading, after: ClockReading): boolean =>
  Math.abs(after.wallMs - before.wallMs - (after.ticksMs - before.ticksMs)) > jumpMs;

/**
 * How long ago that was, by the clock that says more: while the machine is suspended, monotonic time stands still. A limit that
 * protects somebody counts that time too, for it passed everywhere else.
 */
export const ageMs = (then: ClockReading, now: ClockReading): number =>
  Math.max(now.ticksMs - then.ticksMs, Math.abs(now.wallMs - then.wallMs));

/**
 * Calls back when the wall clock has drifted from monotonic time since the last call, by a jump, by a suspension of the
 * machine (CLOCK_MONOTONIC does not advance meanwhile) or gradually. Timers use monotonic time: a timer for a
 * wall-clock time is then wrong.
 */
export function onClockJump(clock: Clock, listener: () => void): Disposable {
  let before = readClocks(clock);
  let timer: Timer;
  const compare = () => {
    timer = clock.after(jumpNoticedWithinMs, compare);
    const after = readClocks(clock);
    if (!hasJumped(before, after)) return;
    before = after;
    listener();
  };
  timer = clock.after(jumpNoticedWithinMs, compare);
  return { [Symbol.dispose]: () => timer.cancel() };
}
