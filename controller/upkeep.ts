import type { Logger } from "../lib/log/log.ts";
import { type Running, startTask } from "../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../lib/queues/backoff.ts";
import { Bell } from "../lib/time/bell.ts";
import type { Clock } from "../lib/time/clock.ts";
import { onClockJump } from "../lib/time/clock-jumps.ts";

export interface UpkeepOptions {
  /** The name in logs and errors. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Brings it up to date. Returns the milliseconds until the next check at the latest. */
  readonly look: (signal: AbortSignal) => Promise<number>;
  readonly firstLookInMs: number;
}

export interface Upkeep extends Running {
  /** Requests a check after a change. */
  readonly lookSoon: () => void;
}

// The first check after a change is immediate. Two programs that undo each other's writes must not do so without a
// pause.
const pauses: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
const quietMs = 300_000;

/** Runs a check when it is due, after `lookSoon`, and after a jump of the clock. */
export function startUpkeep({ name, clock, log, look, firstLookInMs }: UpkeepOptions): Upkeep {
  const bell = new Bell(clock);
  const jumps = onClockJump(clock, () => bell.ring());
  const task = startTask(`the upkeep of ${name}`, async (signal) => {
    let failures = 0;
    let hurried = 0;
    let lookedMs = clock.ticksMs() - quietMs;
    for (let waitMs = firstLookInMs; !signal.aborted; ) {
      await bell.rest(waitMs, signal);
      hurried = clock.ticksMs() - lookedMs < quietMs ? hurried + 1 : 0;
      const earliestMs = lookedMs + backoffDelayMs(hurried, pauses);
      if (earliestMs > clock.ticksMs()) await clock.sleep(earliestMs - clock.ticksMs(), signal).catch(() => {});
      if (signal.aborted) return;
      lookedMs = clock.ticksMs();
      try {
        waitMs = await look(signal);
        failures = 0;
      } catch (err) {
        if (signal.aborted) return;
        failures += 1;
        waitMs = backoffDelayMs(failures, pauses);
        log.warn({ err, failures }, `sync of ${name} failed; requeued`);
      }
    }
  });
  return {
    failed: task.failed,
    lookSoon: () => bell.ring(),
    async [Symbol.asyncDispose]() {
      jumps[Symbol.dispose]();
      await task[Symbol.asyncDispose]();
    },
  };
}
