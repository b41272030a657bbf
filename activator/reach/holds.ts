import type { Clock, Timer } from "../../lib/clock.ts";
import { DeadlineHeap } from "../../lib/deadline-heap.ts";
import { ActivatorError } from "../errors.ts";
import { inTurns } from "./in-turns.ts";

/** Somebody who waits. */
export interface Held {
  timedOut(): void;
  end(reason: ActivatorError): void;
}

/** All who wait now, each until a time of their own; one timer serves them all. */
export class Holds {
  readonly #clock: Clock;
  readonly #deadlines = new DeadlineHeap<Held>();
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(held: Held, limitMs: number): void {
    this.#deadlines.set(held, this.#clock.ticksMs() + limitMs);
    this.#arm();
  }

  over(held: Held): void {
    this.#deadlines.delete(held);
    if (this.#deadlines.size === 0) this.#disarm();
  }

  /** Ends every wait: this replica leaves. Nothing was sent, so another may be asked. */
  endAll(): void {
    this.#disarm();
    void inTurns(this.#due(Number.POSITIVE_INFINITY), (held) => held.end(new ActivatorError("Draining")));
  }

  #arm(): void {
    const { nextMs } = this.#deadlines;
    // One that is too early looks for nothing and sets the next: most who wait are over before their time.
    if (nextMs === undefined || nextMs >= this.#timerMs) return;
    this.#disarm();
    this.#timerMs = nextMs;
    this.#timer = this.#clock.after(nextMs - this.#clock.ticksMs(), () => void this.#look());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  async #look(): Promise<void> {
    this.#disarm();
    await inTurns(this.#due(this.#clock.ticksMs()), (held) => held.timedOut());
    this.#arm();
  }

  *#due(nowMs: number): Iterable<Held> {
    for (let held = this.#deadlines.takeDue(nowMs); held; held = this.#deadlines.takeDue(nowMs)) yield held;
  }
}

/**
 * How long a request may be held, in milliseconds since its head: the least of what the sandbox, the client and we
 * allow, less a margin (of a short time at most half), so that the answer is ours and arrives while the client still
 * listens.
 */
export function holdLimitMs(...allowedMs: readonly (number | undefined)[]): number {
  const budgetMs = Math.min(...allowedMs.filter((each) => each !== undefined));
  return budgetMs - Math.min(Math.max(1_000, budgetMs * 0.05), budgetMs / 2);
}
