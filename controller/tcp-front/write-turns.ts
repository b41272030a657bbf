import type { Clock, Timer } from "../../lib/clock.ts";

/**
 * What a write is about, the most urgent first: a sandbox that cannot be reached yet, one that leads to an activator
 * that is gone, and everything else.
 */
export const urgencies = ["first", "removal", "refresh"] as const;
export type Urgency = (typeof urgencies)[number];

/** As many as come in a second may come at once. */
const burstMs = 1_000;
/** Turns that come within so long come together. */
const gatherMs = 20;

/**
 * Gives leave to write, so many times a second over all keys; whoever gets none is told when its turn has come, and looks
 * again at what there is to write by then. So ten thousand slices that change at once become one write each, of
 * their last state, one after the other. Nothing runs while nobody waits.
 */
export class WriteTurns implements Disposable {
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #onTurn: (key: string) => void;
  readonly #waiting: Readonly<Record<Urgency, Set<string>>> = {
    first: new Set(),
    removal: new Set(),
    refresh: new Set(),
  };
  readonly #granted = new Set<string>();
  /** When the leave that was given last is used up, by the monotonic clock. */
  #busyUntilMs: number;
  #timer: Timer | undefined;

  /** `perSecond` is above 0. */
  constructor(perSecond: number, clock: Clock, onTurn: (key: string) => void) {
    this.#everyMs = 1_000 / perSecond;
    this.#clock = clock;
    this.#onTurn = onTurn;
    this.#busyUntilMs = clock.ticksMs();
  }

  get waiting(): number {
    return urgencies.reduce((sum, urgency) => sum + this.#waiting[urgency].size, 0);
  }

  /** Whether the key may be written now; if not, it is called when it may. */
  take(key: string, urgency: Urgency): boolean {
    if (this.#granted.delete(key)) return true;
    // Whoever comes again keeps its place.
    if (this.#waiting[urgency].has(key)) return false;
    this.#leave(key);
    if (this.waiting === 0 && this.#mayGive()) {
      this.#give();
      return true;
    }
    this.#waiting[urgency].add(key);
    this.#wait();
    return false;
  }

  /** There is nothing to write about this key. */
  drop(key: string): void {
    this.#leave(key);
    if (!this.#granted.delete(key)) return;
    // What it was given for nothing goes to the next.
    this.#busyUntilMs -= this.#everyMs;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wait();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    for (const urgency of urgencies) this.#waiting[urgency].clear();
  }

  #leave(key: string): void {
    for (const urgency of urgencies) this.#waiting[urgency].delete(key);
  }

  #mayGive(): boolean {
    return this.#busyUntilMs + this.#everyMs <= this.#clock.ticksMs() + burstMs;
  }

  #give(): void {
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#clock.ticksMs()) + this.#everyMs;
  }

  #wait(): void {
    if (this.#timer || this.waiting === 0) return;
    const inMs = this.#busyUntilMs + this.#everyMs - burstMs - this.#clock.ticksMs();
    this.#timer = this.#clock.after(Math.max(Math.ceil(inMs), gatherMs), () => {
      this.#timer = undefined;
      this.#turn();
      this.#wait();
    });
  }

  #turn(): void {
    for (const urgency of urgencies) {
      for (const key of this.#waiting[urgency]) {
        if (!this.#mayGive()) return;
        this.#give();
        this.#waiting[urgency].delete(key);
        this.#granted.add(key);
        this.#onTurn(key);
      }
    }
  }
}
