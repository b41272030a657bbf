import type { Clock, Timer } from "../lib/clock.ts";
import type { KubeClient } from "./client.ts";

/** So many calls at a time: `from` of them at first, and one more for each step that the first in line has waited. */
export interface Width {
  readonly from: number;
  readonly to: number;
}

export interface CallLanesOptions {
  readonly clock: Clock;
  /** Of the slow lane, while nobody is in a hurry. */
  readonly atRest?: Width;
  /** The same, while calls are under way that somebody waits for. */
  readonly inRush?: Width;
  readonly stepMs?: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly start: () => void;
}

/**
 * Two ways to the same API server. What somebody waits for is called at once. What has to be done, but nobody waits for,
 * goes by the slow lane, some at a time and fewer while anything is under way at once; so a server that is short of
 * time has it for those who wait. The longer the first in line has been held up, the more go: what is made for those who
 * come next must keep up with them, however long a call takes. First come, first served.
 */
export class CallLanes {
  readonly #clock: Clock;
  readonly #atRest: Width;
  readonly #inRush: Width;
  readonly #stepMs: number;
  readonly #waiting: Waiting[] = [];
  #atOnce = 0;
  #slow = 0;
  /** While any wait: looks again after a step, for calls that never end make no room. */
  #look: Timer | undefined;

  // All of it leaves a quarter of the 32 connections of a client to those who wait.
  constructor({ clock, atRest = { from: 8, to: 24 }, inRush = { from: 2, to: 12 }, stepMs = 100 }: CallLanesOptions) {
    this.#clock = clock;
    this.#atRest = atRest;
    this.#inRush = inRush;
    this.#stepMs = stepMs;
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
        signal?.removeEventListener("abort", giveUp);
        this.#slow += 1;
        resolve();
      };
      const waiting = { sinceMs, start };
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(waiting);
      this.#look ??= this.#clock.after(this.#stepMs, () => this.#lookAgain());
    });
  }

  #lookAgain(): void {
    this.#look = undefined;
    this.#proceed();
    if (this.#waiting.length > 0) this.#look = this.#clock.after(this.#stepMs, () => this.#lookAgain());
  }

  #proceed(): void {
    for (let next = this.#waiting[0]; next && this.#mayStart(next.sinceMs); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.start();
    }
  }

  #mayStart(sinceMs: number): boolean {
    const { from, to } = this.#atOnce === 0 ? this.#atRest : this.#inRush;
    const steps = Math.floor((this.#clock.ticksMs() - sinceMs) / this.#stepMs);
    return this.#slow < Math.min(to, from + steps);
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
