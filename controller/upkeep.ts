import type { Logger } from "../lib/log/log.ts";
import { type Running, startTask } from "../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../lib/queues/backoff.ts";
import { repeatUntilDone } from "../lib/queues/repeat-until-done.ts";
import type { Clock } from "../lib/time/clock.ts";
import { onClockJump } from "../lib/time/clock-jumps.ts";
import { NotifiableWait } from "../lib/time/notifiable-wait.ts";

export interface UpkeepOptions {
  /** The name in logs and errors. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Brings the state up to date. Returns the milliseconds until the next check at the latest. */
  readonly check: (signal: AbortSignal) => Promise<number>;
  readonly firstCheckInMs: number;
}

export interface Upkeep extends Running {
  /** Requests a check after a change. */
  readonly checkSoon: () => void;
}

// The first check after a change is immediate. Two programs that undo each other's writes must not do so without a
// pause.
const backoff: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
const quietMs = 300_000;

/** Runs a check when it is due, after `checkSoon`, and after a jump of the clock. */
export function startUpkeep({ name, clock, log, check, firstCheckInMs }: UpkeepOptions): Upkeep {
  const pause = new NotifiableWait(clock);
  const jumps = onClockJump(clock, () => pause.notify());
  const task = startTask(`the upkeep of ${name}`, async (signal) => {
    let hurried = 0;
    let checkedMs = clock.ticksMs() - quietMs;
    const wait = async (ms: number): Promise<"over"> => {
      await pause.wait(ms, signal);
      hurried = clock.ticksMs() - checkedMs < quietMs ? hurried + 1 : 0;
      const earliestMs = checkedMs + backoffDelayMs(hurried, backoff);
      if (earliestMs > clock.ticksMs()) await clock.sleep(earliestMs - clock.ticksMs(), signal).catch(() => {});
      checkedMs = clock.ticksMs();
      return "over";
    };
    const onFailure = (err: unknown, failures: number) => {
      log.warn({ err, failures }, `could not check ${name}; retrying`);
      return undefined;
    };
    await repeatUntilDone({ clock, signal, backoff, firstInMs: firstCheckInMs, round: check, onFailure, wait });
  });
  return {
    failed: task.failed,
    checkSoon: () => pause.notify(),
    async [Symbol.asyncDispose]() {
      jumps[Symbol.dispose]();
      await task[Symbol.asyncDispose]();
    },
  };
}
