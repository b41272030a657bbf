import { FairLine } from "../../lib/data/fair-line.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import type { KubeClient } from "./client.ts";

/**
 * The number of concurrent calls: `from` at first, and one more for each step that the oldest has waited, up to `to`.
 */
export interface Width {
  readonly from: number;
  readonly to: number;
}

export interface CallLanesOptions {
  readonly clock: Clock;
  /** The width of the low-priority lane while no high-priority call is in flight. */
  readonly atRest?: Width;
  /** Its width while high-priority calls are in flight. */
  readonly inRush?: Width;
  readonly stepMs?: number;
  /** Called before each call; throws if it may not be made. */
  readonly mayCall?: (() => void) | undefined;
}

interface Waiting {
  readonly sinceMs: number;
  readonly start: () => void;
}

/**
 * Two priorities for calls to one API server. High-priority calls, which a client waits for, start at once.
 * Low-priority calls run a few at a time, and fewer while a high-priority call is in flight, so that a slow server
 * serves high-priority calls first. The number grows with the waiting time of the oldest call: otherwise a refill could
 * not keep up with a slow server. The namespaces take turns in low-priority calls, and in each the oldest call starts
 * first.
 */
export class CallLanes {
  readonly #clock: Clock;
  readonly #atRest: Width;
  readonly #inRush: Width;
  readonly #stepMs: number;
  readonly #mayCall: () => void;
  /** By namespace. */
  readonly #waiting = new FairLine<Waiting>();
  #atOnce = 0;
  #slow = 0;
  /** Set while calls wait: checks again after a step, because calls that never end free no place. */
  #recheckTimer: Timer | undefined;

  // At most 24 of the 32 connections of a client: a quarter is left for high-priority calls.
  constructor({
    clock,
    atRest = { from: 8, to: 24 },
    inRush = { from: 2, to: 12 },
    stepMs = 100,
    mayCall = () => {},
  }: CallLanesOptions) {
    this.#clock = clock;
    this.#mayCall = mayCall;
    this.#atRest = atRest;
    this.#inRush = inRush;
    this.#stepMs = stepMs;
  }

  /** A client with high priority, whose calls start at once. */
  atOnce(client: KubeClient): KubeClient {
    return throughEach(client, async (call) => {
      this.#mayCall();
      this.#atOnce += 1;
      try {
        return await call();
      } finally {
        this.#atOnce -= 1;
        this.#proceed();
      }
    });
  }

  /** A client with low priority, whose calls wait for a place. */
  slowly(client: KubeClient): KubeClient {
    return throughEach(client, async (call, namespace, signal) => {
      await this.#turn(namespace, signal);
      try {
        this.#mayCall();
        return await call();
      } finally {
        this.#slow -= 1;
        this.#proceed();
      }
    });
  }

  /** Resolves when a call may start; it is counted from then on. */
  async #turn(namespace: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const sinceMs = this.#clock.ticksMs();
    if (this.#waiting.size === 0 && this.#mayStart(sinceMs)) {
      this.#slow += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        leaving[Symbol.dispose]();
        this.#slow += 1;
        resolve();
      };
      const waiting = { sinceMs, start };
      const leaving = onAbort(signal, () => {
        this.#waiting.delete(namespace, waiting);
        reject(signal?.reason);
      });
      this.#waiting.add(namespace, waiting);
      this.#recheckTimer ??= this.#clock.after(this.#stepMs, () => this.#recheck());
    });
  }

  #recheck(): void {
    this.#recheckTimer = undefined;
    this.#proceed();
    if (this.#waiting.size > 0) this.#recheckTimer = this.#clock.after(this.#stepMs, () => this.#recheck());
  }

  #proceed(): void {
    while (this.#waiting.size > 0 && this.#mayStart(this.#oldestMs())) this.#waiting.take()?.start();
  }

  /** When the call came that has waited longest. */
  #oldestMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { sinceMs } of this.#waiting.heads()) oldestMs = Math.min(oldestMs, sinceMs);
    return oldestMs;
  }

  #mayStart(sinceMs: number): boolean {
    const { from, to } = this.#atOnce === 0 ? this.#atRest : this.#inRush;
    const steps = Math.floor((this.#clock.ticksMs() - sinceMs) / this.#stepMs);
    return this.#slow < Math.min(to, from + steps);
  }
}

type Through = <R>(call: () => Promise<R>, namespace: string, signal: AbortSignal | undefined) => Promise<R>;

/** A client whose calls about single objects go through one function; lists and watches are unchanged. */
const throughEach = (client: KubeClient, through: Through): KubeClient => ({
  list: (type, options, signal) => client.list(type, options, signal),
  watch: (type, options, signal) => client.watch(type, options, signal),
  get: (type, name, signal) => through(() => client.get(type, name, signal), namespaceOf(name), signal),
  create: (type, object, options, signal) =>
    through(() => client.create(type, object, options, signal), namespaceOf(object.metadata), signal),
  replace: (type, object, options, signal) =>
    through(() => client.replace(type, object, options, signal), namespaceOf(object.metadata), signal),
  patch: (type, name, patch, options, signal) =>
    through(() => client.patch(type, name, patch, options, signal), namespaceOf(name), signal),
  delete: (type, name, options, signal) =>
    through(() => client.delete(type, name, options, signal), namespaceOf(name), signal),
});

/** Empty for an object of the cluster. */
const namespaceOf = ({ namespace = "" }: { readonly namespace?: string | undefined }) => namespace;
