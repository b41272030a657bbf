import { reportUnexpected } from "../lib/guard/guard.ts";
import type { Clock, Timer } from "../lib/time/clock.ts";
import { addressKey, type PodAddress } from "./pod-connections/place.ts";

/** Something with a time limit that is checked from time to time. */
export interface Watched {
  /** Its position in the sweep, which sets it; -1 if it is in none. */
  sweepIndex: number;
  check(nowMs: number): void;
  /** The place that it sends to. Absent: none. */
  readonly place?: PodAddress;
  /** The Pod is gone from there, has ended, or has another address: no further response may come. It may be called more than once. */
  podGone?(nowMs: number): void;
}

/**
 * How long a lost address of a Pod is remembered, in milliseconds. A connection that was being dialled when the Pod went may be
 * added a moment later; no dial takes longer.
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
  /** Whether a Pod has got back an address that it had lost. */
  readonly #isBack: (address: PodAddress) => boolean;
  /** What was lost, and the ticks in milliseconds until which it is remembered; in that order. */
  readonly #gone = new Map<string, { readonly address: PodAddress; readonly untilMs: number }>();
  #timer: Timer | undefined;

  constructor(clock: Clock, isBack: (address: PodAddress) => boolean = () => false) {
    this.#clock = clock;
    this.#isBack = isBack;
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

  /** That Pod has lost this address: entries that send there are called at the next step. */
  podGone(address: PodAddress): void {
    const nowMs = this.#clock.ticksMs();
    this.#forgetGone(nowMs);
    const key = addressKey(address);
    this.#gone.delete(key); // then append it, so that the oldest come first
    this.#gone.set(key, { address, untilMs: nowMs + goneKeptMs });
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
    // Those that were open then have been told; those that are opened now reach the Pod.
    for (const [key, { address }] of this.#gone) if (this.#isBack(address)) this.#gone.delete(key);
  }

  #reportGone(watched: Watched | undefined, nowMs: number): void {
    if (watched?.place && this.#gone.has(addressKey(watched.place))) watched.podGone?.(nowMs);
  }

  #forgetGone(nowMs: number): void {
    for (const [key, { untilMs }] of this.#gone) {
      if (nowMs < untilMs) return;
      this.#gone.delete(key);
    }
  }
}
