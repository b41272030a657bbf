import { DeadlineHeap } from "../../../lib/time/deadline-heap.ts";
import type { TimesDecision } from "./activity-times.ts";

export interface TimesReport {
  /** Undefined for a sandbox that is no more. */
  readonly decide: (key: string) => TimesDecision | undefined;
  readonly notify: (key: string) => void;
  readonly isOver: () => boolean;
}

/** The sandboxes whose activity times may have to be written. */
export class TimesRequests {
  readonly #changed = new Set<string>();
  /** When to check again those whose write may wait. */
  readonly #due = new DeadlineHeap();
  /** The last report has left some. */
  #isCut = false;

  /** When to report next, in monotonic milliseconds; undefined: not before a sandbox is added. */
  get nextMs(): number | undefined {
    return this.#isCut ? Number.NEGATIVE_INFINITY : this.#due.nextMs;
  }

  add(key: string): void {
    this.#changed.add(key);
  }

  drop(key: string): void {
    this.#changed.delete(key);
    this.#due.delete(key);
  }

  /** Notifies of each whose write is due, until `isOver`; the rest stay for the next report. */
  report(nowMs: number, { decide, notify, isOver }: TimesReport): void {
    this.#isCut = false;
    for (let key = this.#next(nowMs); key !== undefined; key = this.#next(nowMs)) {
      const decision = decide(key);
      this.#changed.delete(key); // to decide may add it
      if (decision?.is === "due") notify(key);
      if (decision?.is === "waiting") this.#due.set(key, nowMs + decision.forMs);
      if (!isOver()) continue;
      this.#isCut = this.#changed.size > 0;
      return;
    }
  }

  #next(nowMs: number): string | undefined {
    return this.#changed.values().next().value ?? this.#due.takeDue(nowMs);
  }
}
