import { reportUnexpected, runGuarded } from "../lib/guard/guard.ts";
import type { Clock, Timer } from "../lib/time/clock.ts";
import { LostAddresses } from "./pod-connections/lost-addresses.ts";
import type { PodAddress } from "./pod-connections/place.ts";

/** Something with a time limit that is checked from time to time. */
export interface Watched {
  /** Its position in the sweep, which sets it; -1 if it is in none. */
  sweepIndex: number;
  check(nowMs: number): void;
  /** It need not be checked before this time, which it may change at any time; monotonic milliseconds. Absent: at each step. */
  readonly restsUntilMs?: number;
  /** The place that it sends to, the same at all times. Absent: none. */
  readonly place?: PodAddress;
  /** The Pod is gone from there, has ended, or has another address: no further response may come. It may be called more than once. */
  podGone?(nowMs: number): void;
}

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
  readonly #lost = new LostAddresses();
  /** Whether an address was lost since the last step. Each loss is compared with each entry once: there may be many of both. */
  #hasNewLoss = false;
  /** Entries that send to a lost address, and are told at the next step. */
  readonly #untold = new Set<Watched>();
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
    if (this.#isCutOff(watched)) this.#untold.add(watched);
    this.#timer ??= this.#clock.after(stepMs, () => this.#step());
  }

  remove(watched: Watched): void {
    const index = watched.sweepIndex;
    if (index < 0) return;
    watched.sweepIndex = -1;
    this.#untold.delete(watched);
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
    this.#lost.forgetOld(nowMs);
    this.#lost.add(address, nowMs);
    this.#hasNewLoss = true;
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #step(): void {
    this.#timer = this.#clock.after(stepMs, () => this.#step());
    const nowMs = this.#clock.ticksMs();
    this.#lost.forgetOld(nowMs);
    if (this.#hasNewLoss) for (const watched of this.#watched) if (this.#isCutOff(watched)) this.#untold.add(watched);
    this.#hasNewLoss = false;
    for (const watched of this.#untold) runGuarded("socket", () => watched.podGone?.(nowMs));
    this.#untold.clear();
    // Those that were open then have been told; those that are opened now reach the Pod.
    this.#lost.forgetThose(this.#isBack);
    // Backwards: an entry that leaves during the sweep is replaced by one that was checked already.
    for (let index = this.#watched.length - 1; index >= 0; index -= 1) {
      const watched = this.#watched[index];
      if (!watched || (watched.restsUntilMs ?? 0) > nowMs) continue;
      try {
        watched.check(nowMs);
      } catch (error) {
        reportUnexpected("socket", error); // the others are still checked
      }
    }
  }

  #isCutOff(watched: Watched): boolean {
    return this.#lost.size > 0 && watched.place !== undefined && this.#lost.has(watched.place);
  }
}
