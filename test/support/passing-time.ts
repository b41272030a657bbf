import { FakeClock, systemClock } from "../../lib/time/clock.ts";

/** A clock for one program. Its time passes while all programs run: a few milliseconds of real time for each second. */
export function passingTime() {
  const clock = new FakeClock(systemClock.now());
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      await systemClock.sleep(3);
    }
  };
  const until = async (isSo: () => Promise<boolean>, withinMs: number) => {
    const endMs = clock.ticksMs() + withinMs;
    while (!(await isSo())) {
      if (clock.ticksMs() >= endMs) throw new Error(`it did not happen within ${withinMs / 1_000} s`);
      await pass(1);
    }
  };
  return { clock, pass, until };
}
