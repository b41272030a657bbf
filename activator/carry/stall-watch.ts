import type { Clock, Timer } from "../../lib/clock.ts";

/** Notices when nothing moves for a while. One timer that looks at a counter is cheaper than one that every byte sets. */
export class StallWatch implements Disposable {
  readonly #clock: Clock;
  readonly #progress: () => number;
  readonly #onStall: () => void;
  #timer: Timer | undefined;

  /** `progress` is a number that changes whenever something moves. */
  constructor(clock: Clock, progress: () => number, onStall: () => void) {
    this.#clock = clock;
    this.#progress = progress;
    this.#onStall = onStall;
  }

  /** From now on `limitMs` without progress is a stall, found out within a quarter more. 0 means no limit. */
  limit(limitMs: number): void {
    this.#timer?.cancel();
    if (limitMs <= 0 || limitMs === Number.POSITIVE_INFINITY) return;
    const stepMs = limitMs / 4;
    let seen = this.#progress();
    let movedMs = this.#clock.ticksMs();
    const check = () => {
      const now = this.#progress();
      const nowMs = this.#clock.ticksMs();
      if (now !== seen) [seen, movedMs] = [now, nowMs];
      if (nowMs - movedMs >= limitMs) return this.#onStall();
      this.#timer = this.#clock.after(stepMs, check);
    };
    this.#timer = this.#clock.after(stepMs, check);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
