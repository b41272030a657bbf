import { FairLine } from "../../lib/data/fair-line.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import { WorkerShares } from "../../lib/queues/worker-shares.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import type { KubeClient } from "./client.ts";

/**
 * The number of concurrent calls: `from` at first, and one more for each step that the oldest has waited, up to `to` for one namespace.
 * Beyond that there is room for a quarter more, for other namespaces.
 */
export interface Width {
  readonly from: number;
  readonly to: number;
}

const sparePart = 0.25;

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
 * not keep up with a slow server. The namespaces share the low-priority calls and take turns, and in each the oldest call starts
 * first: calls of one namespace that hang delay none of another one.
 */
export class CallLanes {
  readonly #clock: Clock;
  readonly #atRest: Width;
  readonly #inRush: Width;
  readonly #stepMs: number;
  readonly #mayCall: () => void;
  /** By namespace. */
  readonly #waiting = new FairLine<Waiting>();
  /** By namespace, of the most low-priority calls at rest and in a rush. */
  readonly #shares: { readonly atRest: WorkerShares; readonly inRush: WorkerShares };
  #atOnce = 0;
  #slow = 0;
  /** Set while calls wait: checks again after a step, because calls that never end free no place. */
  #recheckTimer: Timer | undefined;

  // At most 24 of the 32 connections that one namespace has: a quarter is left for high-priority calls.
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
    this.#shares = { atRest: sharesOf(atRest), inRush: sharesOf(inRush) };
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
        this.#end(namespace);
        this.#proceed();
      }
    });
  }

  /** Resolves when a call may start; it is counted from then on. */
  async #turn(namespace: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const sinceMs = this.#clock.ticksMs();
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        leaving[Symbol.dispose]();
        this.#begin(namespace);
        resolve();
      };
      const waiting = { sinceMs, start };
      const leaving = onAbort(signal, () => {
        this.#waiting.delete(namespace, waiting);
        reject(signal?.reason);
      });
      this.#waiting.add(namespace, waiting);
      // Those that wait may all be of a namespace that has its share.
      this.#proceed();
      this.#recheckLater();
    });
  }

  #begin(namespace: string): void {
    this.#slow += 1;
    for (const shares of Object.values(this.#shares)) shares.hold(namespace);
  }

  #end(namespace: string): void {
    this.#slow -= 1;
    for (const shares of Object.values(this.#shares)) shares.release(namespace);
  }

  #recheckLater(): void {
    if (this.#waiting.size === 0) return;
    this.#recheckTimer ??= this.#clock.after(this.#stepMs, () => {
      this.#recheckTimer = undefined;
      this.#proceed();
      this.#recheckLater();
    });
  }

  #proceed(): void {
    const shares = this.#atOnce === 0 ? this.#shares.atRest : this.#shares.inRush;
    while (this.#waiting.size > 0 && this.#mayStart(this.#oldestMs())) {
      const next = this.#waiting.take((namespace) => shares.mayHold(namespace));
      if (!next) return;
      next.start();
    }
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
    return this.#slow < Math.min(to + spareOf(to), from + steps);
  }
}

const spareOf = (to: number) => Math.floor(to * sparePart);

/** One namespace gets `to` calls. */
const sharesOf = ({ to }: Width) => new WorkerShares(to + spareOf(to), { shared: spareOf(to) });

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
