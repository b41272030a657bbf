import type { Clock } from "../time/clock.ts";

/** Callers that wait until nothing is in progress. */
export class IdleWaiters {
  readonly #isIdle: () => boolean;
  readonly #waiting: (() => void)[] = [];

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  /** Resolves once nothing is in progress; at once if that is so now. */
  untilIdle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** As `untilIdle`, but for at most this long. */
  async untilIdleWithin(limitMs: number, clock: Clock): Promise<void> {
    const late = Promise.withResolvers<void>();
    using _limit = clock.after(limitMs, late.resolve);
    await Promise.race([this.untilIdle(), late.promise]);
  }

  /** Call it when something has ended. It costs nothing while nobody waits. */
  ended(): void {
    if (this.#waiting.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
