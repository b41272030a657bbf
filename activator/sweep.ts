import { reportUnexpected } from "../lib/guard/guard.ts";
import type { Clock, Timer } from "../lib/time/clock.ts";

/** Something with a time limit that is checked from time to time. */
export interface Watched {
  /** Its position in the sweep, which sets it; -1 if it is in none. */
  sweepIndex: number;
  check(nowMs: number): void;
  /** The UID of the Pod that it sends to. Absent: none. */
  readonly podUid?: string;
  /** That Pod was seen gone, so no further response may come. It may be called more than once. */
  podGone?(nowMs: number): void;
}

/**
 * How long a Pod is remembered as gone, in milliseconds. A connection that was being dialled when the Pod went may be added a
 * moment later; no dial takes longer.
 */
const goneKeptMs = 30_000;

/** The interval in milliseconds. Limits on the data path are seconds, so this delay is harmless. */
const stepMs = 100;

/**
 * Checks everything with a time limit, in steps: a limit is set by an assignment, where a timer for each request would cost as
 * much as parsing its head. Without entries no timer runs.
 */
export class Sweep implements Disposable {
  readonly #clock: Clock;
  readonly #watched: Watched[] = [];
  /** Ticks in milliseconds until which each Pod is remembered as gone; in that order. */
  readonly #gone = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#watched.length;
  }

  add(watched: Watched): void {
    if (watched.sweepIndex >= 0) return;
    watched.sweepIndex = this.#watched.push(watched) - 1;
    this.#timer ??= this.#clock.after(stepMs, () => this.#step());
  }

  remove(watched: Watched): void {
    const index = watched.sweepIndex;
    if (index < 0) return;
    watched.sweepIndex = -1;
    const last = this.#watched.pop();
    if (last && last !== watched) {
      this.#watched[index] = last;
      last.sweepIndex = index;
    }
    if (this.#watched.length === 0) this[Symbol.dispose]();
  }

  /** That Pod is gone: entries that send to it are called at the next step. */
  podGone(podUid: string): void {
    const nowMs = this.#clock.ticksMs();
    this.#forgetGone(nowMs);
    this.#gone.set(podUid, nowMs + goneKeptMs);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #step(): void {
    this.#timer = this.#clock.after(stepMs, () => this.#step());
    const nowMs = this.#clock.ticksMs();
    if (this.#gone.size > 0) this.#forgetGone(nowMs);
    // Backwards: an entry that leaves during the sweep is replaced by one that was checked already.
    for (let index = this.#watched.length - 1; index >= 0; index -= 1) {
      try {
        const watched = this.#watched[index];
        if (this.#gone.size > 0) this.#reportGone(watched, nowMs);
        watched?.check(nowMs);
      } catch (error) {
        // The others are still checked.
        reportUnexpected("socket", error);
      }
    }
  }

  #reportGone(watched: Watched | undefined, nowMs: number): void {
    if (watched?.podUid !== undefined && this.#gone.has(watched.podUid)) watched.podGone?.(nowMs);
  }

  #forgetGone(nowMs: number): void {
    for (const [podUid, untilMs] of this.#gone) {
      if (nowMs < untilMs) return;
      this.#gone.delete(podUid);
    }
  }
}
