import { DeadlineHeap } from "../../../lib/time/deadline-heap.ts";
import type { TimesDecision } from "./activity-times.ts";

/** The sandboxes whose activity times may have to be written. */
export class TimesRequests {
  readonly #changed = new Set<string>();
  /** When to check again those whose write may wait. */
  readonly #due = new DeadlineHeap();

  /** When to report next, in monotonic milliseconds; undefined: not before a sandbox is added. */
  get nextMs(): number | undefined {
    return this.#due.nextMs;
  }

  add(key: string): void {
    this.#changed.add(key);
  }

  drop(key: string): void {
    this.#changed.delete(key);
    this.#due.delete(key);
  }

  /** Notifies of each whose write is due. `decide` is undefined for a sandbox that is no more. */
  report(nowMs: number, decide: (key: string) => TimesDecision | undefined, notify: (key: string) => void): void {
    for (let key = this.#due.takeDue(nowMs); key !== undefined; key = this.#due.takeDue(nowMs)) this.#changed.add(key);
    for (const key of this.#changed) {
      const decision = decide(key);
      this.#changed.delete(key); // to decide may add it
      if (decision?.is === "due") notify(key);
      if (decision?.is === "waiting") this.#due.set(key, nowMs + decision.forMs);
    }
  }
}
