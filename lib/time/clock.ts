import { reportUnexpected } from "../guard/guard.ts";
import { onAbort } from "../guard/on-abort.ts";

/** A running timer that can be cancelled. */
export interface Timer extends Disposable {
  cancel(): void;
}

/** The only source of time. All code that waits or measures gets one. */
export interface Clock {
  /** Wall time, for people and the API server. It may jump in either direction. */
  now(): Date;
  /** Monotonic milliseconds, for measuring. Never stored and never sent to another process. */
  ticksMs(): number;
  /**
   * Runs `task` once after `delayMs` milliseconds of monotonic time, but not before the events that the sockets had by then. A
   * process that stood still runs its timers first (Node documentation, the event loop), and what came in time would seem late.
   * It does not keep the process alive. An error of the task is reported as unexpected.
   *
   * @throws RangeError when the delay is NaN.
   */
  after(delayMs: number, task: () => void): Timer;
  /** Resolves after `delayMs` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

// setTimeout treats anything above 2^31-1 ms as 1 ms (Node documentation, timers), so long delays are split.
const longestTimeoutMs = 2 ** 31 - 1;

abstract class AnyClock implements Clock {
  abstract now(): Date;
  abstract ticksMs(): number;

  after(delayMs: number, task: () => void): Timer {
    // setTimeout would treat it as 1 ms (Node documentation, timers), and a loop with this delay would never rest.
    if (Number.isNaN(delayMs)) throw new RangeError("a delay must be a number of milliseconds: NaN");
    return this.start(delayMs, task);
  }

  protected abstract start(delayMs: number, task: () => void): Timer;

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = this.after(delayMs, () => {
        leaving[Symbol.dispose]();
        resolve();
      });
      const leaving = onAbort(signal, () => {
        timer.cancel();
        reject(signal?.reason);
      });
    });
  }
}

class SystemClock extends AnyClock {
  now(): Date {
    return new Date();
  }

  ticksMs(): number {
    return performance.now();
  }

  protected start(delayMs: number, task: () => void): Timer {
    let handle: NodeJS.Timeout;
    let turn: NodeJS.Immediate | undefined;
    const run = () => {
      turn = setImmediate(runTask, task);
    };
    const goOn = (leftMs: number) => {
      const legMs = Math.min(Math.max(leftMs, 0), longestTimeoutMs);
      handle = setTimeout(() => (leftMs > legMs ? goOn(leftMs - legMs) : run()), legMs);
      handle.unref();
    };
    goOn(delayMs);
    const cancel = () => {
      clearTimeout(handle);
      clearImmediate(turn);
    };
    return { cancel, [Symbol.dispose]: cancel };
  }
}

/** An error of a task affects only that task: the timers of a process are independent. */
function runTask(task: () => void): void {
  try {
    task();
  } catch (error) {
    reportUnexpected("timer", error);
  }
}

export const systemClock: Clock = new SystemClock();

interface Alarm {
  readonly dueMs: number;
  readonly task: () => void;
}

/** A clock for tests: time stands still until `advance` moves it. */
export class FakeClock extends AnyClock {
  #wallMs: number;
  #ticksMs = 0;
  readonly #alarms = new Set<Alarm>();

  constructor(start: Date | string = "2026-01-01T00:00:00Z") {
    super();
    this.#wallMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#wallMs);
  }

  ticksMs(): number {
    return this.#ticksMs;
  }

  protected start(delayMs: number, task: () => void): Timer {
    const alarm: Alarm = { dueMs: this.#ticksMs + Math.max(delayMs, 0), task };
    this.#alarms.add(alarm);
    const cancel = () => void this.#alarms.delete(alarm);
    return { cancel, [Symbol.dispose]: cancel };
  }

  /** The number of pending timers; a test that ends with some has found a leak. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Advances time, runs due timers in order, and lets promises settle after each. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#ticksMs + byMs;
    await settle();
    for (let next = this.#nextDue(endMs); next; next = this.#nextDue(endMs)) {
      this.#moveTo(Math.max(next.dueMs, this.#ticksMs));
      this.#alarms.delete(next);
      next.task();
      await settle();
    }
    this.#moveTo(Math.max(endMs, this.#ticksMs));
    await settle();
  }

  /** Advances time to the next timer that becomes due. Without a timer, time stands still. */
  async advanceToNext(): Promise<void> {
    const next = this.#nextDue(Number.POSITIVE_INFINITY);
    await this.advance(next ? Math.max(0, next.dueMs - this.#ticksMs) : 0);
  }

  /** Sets the wall clock without moving monotonic time, as NTP or an administrator would. */
  jumpWall(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** Advances time while nothing runs. Timers that became due run at the next `advance`, after what the sockets have. */
  standStill(forMs: number): void {
    this.#moveTo(this.#ticksMs + forMs);
  }

  /** Advances time while nothing runs, as in a stopped process; timers that became due run afterwards. */
  async pause(forMs: number): Promise<void> {
    this.standStill(forMs);
    const dueMs = this.#ticksMs;
    for (let next = this.#nextDue(dueMs); next; next = this.#nextDue(dueMs)) {
      this.#alarms.delete(next);
      next.task();
      await settle();
    }
  }

  #moveTo(ticksMs: number): void {
    this.#wallMs += ticksMs - this.#ticksMs;
    this.#ticksMs = ticksMs;
  }

  #nextDue(endMs: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.dueMs <= endMs && (!next || alarm.dueMs < next.dueMs)) next = alarm;
    }
    return next;
  }
}

// One turn of the event loop runs all ready microtasks, and those that they make ready.
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
