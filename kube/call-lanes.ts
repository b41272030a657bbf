import type { Clock } from "../lib/clock.ts";
import type { KubeClient } from "./client.ts";

/** How many calls go by the slow lane at a time. */
export interface CallLanesOptions {
  readonly clock: Clock;
  /** While nobody is in a hurry. */
  readonly slowMax?: number;
  /** At first, while calls are under way that somebody waits for. */
  readonly slowMaxInRush?: number;
  /** When the first in line has waited so long, there are as many as if nobody were in a hurry. */
  readonly longestWaitMs?: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly start: () => void;
}

/**
 * Two ways to the same API server. What somebody waits for is called at once. What has to be done, but nobody waits for,
 * goes by the slow lane, some at a time and fewer while anything is under way at once; so a server that is short of
 * time has it for those who wait. The longer the first in line has been held up, the more go: what is made for those who
 * come next must keep up with them. First come, first served.
 */
export class CallLanes {
  readonly #clock: Clock;
  readonly #slowMax: number;
  readonly #slowMaxInRush: number;
  readonly #longestWaitMs: number;
  readonly #waiting: Waiting[] = [];
  #atOnce = 0;
  #slow = 0;

  constructor({ clock, slowMax = 8, slowMaxInRush = 2, longestWaitMs = 600 }: CallLanesOptions) {
    this.#clock = clock;
    this.#slowMax = slowMax;
    this.#slowMaxInRush = slowMaxInRush;
    this.#longestWaitMs = longestWaitMs;
  }

  /** A client whose calls are made at once, and hold up those in the slow lane. */
  atOnce(client: KubeClient): KubeClient {
    return throughEach(client, async (call) => {
      this.#atOnce += 1;
      try {
        return await call();
      } finally {
        this.#atOnce -= 1;
        this.#proceed();
      }
    });
  }

  /** A client whose calls wait for their turn. */
  slowly(client: KubeClient): KubeClient {
    return throughEach(client, async (call, signal) => {
      await this.#turn(signal);
      try {
        return await call();
      } finally {
        this.#slow -= 1;
        this.#proceed();
      }
    });
  }

  /** Resolves when a call may be made, which is counted from then on. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const sinceMs = this.#clock.ticksMs();
    if (this.#waiting.length === 0 && this.#mayStart(sinceMs)) {
      this.#slow += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        overdue.cancel();
        signal?.removeEventListener("abort", giveUp);
        this.#slow += 1;
        resolve();
      };
      const waiting = { sinceMs, start };
      const overdue = this.#clock.after(this.#longestWaitMs, () => this.#proceed());
      const giveUp = () => {
        overdue.cancel();
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #proceed(): void {
    for (let next = this.#waiting[0]; next && this.#mayStart(next.sinceMs); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.start();
    }
  }

  #mayStart(sinceMs: number): boolean {
    if (this.#atOnce === 0) return this.#slow < this.#slowMax;
    const waited = Math.min(1, (this.#clock.ticksMs() - sinceMs) / this.#longestWaitMs);
    return this.#slow < this.#slowMaxInRush + Math.floor((this.#slowMax - this.#slowMaxInRush) * waited);
  }
}

type Through = <R>(call: () => Promise<R>, signal: AbortSignal | undefined) => Promise<R>;

/** A client whose calls about single objects go through one function; lists and watches are what they were. */
const throughEach = (client: KubeClient, through: Through): KubeClient => ({
  list: (type, options, signal) => client.list(type, options, signal),
  watch: (type, options, signal) => client.watch(type, options, signal),
  get: (type, name, signal) => through(() => client.get(type, name, signal), signal),
  create: (type, object, options, signal) => through(() => client.create(type, object, options, signal), signal),
  replace: (type, object, options, signal) => through(() => client.replace(type, object, options, signal), signal),
  patch: (type, name, patch, options, signal) =>
    through(() => client.patch(type, name, patch, options, signal), signal),
  delete: (type, name, options, signal) => through(() => client.delete(type, name, options, signal), signal),
});
