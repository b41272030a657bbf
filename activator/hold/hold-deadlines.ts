import type { Clock, Timer } from "../../lib/time/clock.ts";
import { DeadlineHeap } from "../../lib/time/deadline-heap.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";

/** A request with a deadline. */
export interface Expiring {
  timedOut(): void;
  end(reason: ActivatorError): void;
}

/** All current holds with their deadlines; one timer serves all. */
export class HoldDeadlines {
  readonly #clock: Clock;
  readonly #deadlines = new DeadlineHeap<Expiring>();
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(held: Expiring, limitMs: number): void {
    this.#deadlines.set(held, this.#clock.ticksMs() + limitMs);
    this.#arm();
  }

  over(held: Expiring): void {
    this.#deadlines.delete(held);
    if (this.#deadlines.size === 0) this.#disarm();
  }

  /** Ends every hold, because this replica exits. Nothing was sent, so the client may retry at another replica. */
  endAll(): void {
    this.#disarm();
    void forEachYielding(this.#due(Number.POSITIVE_INFINITY), (held) => held.end(new ActivatorError("Draining")));
  }

  #arm(): void {
    const { nextMs } = this.#deadlines;
    // A timer that fires early only sets the next timer: most holds end before their deadline.
    if (nextMs === undefined || nextMs >= this.#timerMs) return;
    this.#disarm();
    this.#timerMs = nextMs;
    this.#timer = this.#clock.after(nextMs - this.#clock.ticksMs(), () => void this.#check());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  async #check(): Promise<void> {
    this.#disarm();
    await forEachYielding(this.#due(this.#clock.ticksMs()), (held) => held.timedOut());
    this.#arm();
  }

  *#due(nowMs: number): Iterable<Expiring> {
    for (let held = this.#deadlines.takeDue(nowMs); held; held = this.#deadlines.takeDue(nowMs)) yield held;
  }
}
