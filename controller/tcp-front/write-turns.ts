import type { Clock, Timer } from "../../lib/clock.ts";

/**
 * What a write is about, the most urgent first: a sandbox that cannot be reached yet, one that leads to an activator
 * that is gone, and everything else.
 */
export const urgencies = ["first", "removal", "refresh"] as const;
export type Urgency = (typeof urgencies)[number];

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

  /** `perSecond` is above 0; as many may come in a burst. */
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
    // What it was given for nothing goes to the next.
    if (this.#granted.delete(key)) this.#busyUntilMs -= this.#everyMs;
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    for (const urgency of urgencies) this.#waiting[urgency].clear();
  }

  #leave(key: string): void {
    for (const urgency of urgencies) this.#waiting[urgency].delete(key);
  }

  #mayGive(): boolean {
    return this.#busyUntilMs < this.#clock.ticksMs() + 1_000;
  }

  #give(): void {
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#clock.ticksMs()) + this.#everyMs;
  }

  #wait(): void {
    if (this.#timer || this.waiting === 0) return;
    const inMs = Math.max(this.#busyUntilMs - 1_000 - this.#clock.ticksMs(), 0);
    this.#timer = this.#clock.after(Math.ceil(inMs) + 1, () => {
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
