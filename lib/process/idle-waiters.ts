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

  /** Call it when something has ended. It costs nothing while nobody waits. */
  ended(): void {
    if (this.#waiting.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
