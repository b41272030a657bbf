import { onAbort } from "../../lib/guard/on-abort.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";

export interface ProbeLimits {
  /** The rate at which probing may begin connections, in total. */
  readonly rate: Rate;
  /** Connections of probing that are open at a time, in total. */
  readonly openMax: number;
  /** Connections of one namespace that are open at a time. */
  readonly openOfNamespaceMax: number;
}

/** Each connection costs 0.2 to 0.5 ms of the main thread, which also serves all requests. */
export const probeLimits: ProbeLimits = {
  rate: { perSecond: 1_000, burst: 100 },
  openMax: 512,
  openOfNamespaceMax: 128,
};

/** The share of the open connections that namespaces share, as `HoldLimits` shares places for requests. */
const sharedPart = 0.1;

/** Rounding error of sums of fractions of a permit. */
const wholePermit = 1 - 1e-9;

/** An attempt to reach a port. */
export interface Attempt {
  /** The number of connections that the attempt begins. */
  readonly count: number;
  /** No attempt has been made on this port: within its namespace it goes before the retries. */
  readonly isFirst: boolean;
}

/** An attempt that waits for its turn. */
interface Turn extends Attempt {
  readonly line: Set<Turn>;
  readonly begin: (lease: ProbeLease) => void;
}

/** The use and the queue of one namespace. */
interface Share {
  /** Both in order of arrival. */
  readonly first: Set<Turn>;
  readonly again: Set<Turn>;
  open: number;
  /** Grows with each connection. The namespace with the lowest value is next; a new one begins at the level of the others. */
  used: number;
}

/**
 * One budget of connections for all probing of a replica, shared equally by the namespaces that probe. Tenants choose the
 * number of ports, sandboxes and readiness probes, so only a budget of the whole replica protects its other work. While the
 * budget suffices, no attempt waits.
 *
 * Memory: one queue entry per attempt, and one attempt per port that held requests wait for.
 */
export class ProbeBudget {
  readonly #clock: Clock;
  readonly #limits: ProbeLimits;
  readonly #sharedPlaces: number;
  readonly #shares = new Map<string, Share>();
  #permits: number;
  #filledMs: number;
  #open = 0;
  #waiting = 0;
  /** The level of the namespace that had the last turn. */
  #floor = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: ProbeLimits = probeLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#sharedPlaces = Math.floor(limits.openMax * sharedPart);
    this.#permits = limits.rate.burst;
    this.#filledMs = clock.ticksMs();
  }

  /** The number of attempts that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number of open connections. */
  get open(): number {
    return this.#open;
  }

  /**
   * Resolves when an attempt may begin its connections. They count as open until the lease is disposed of.
   *
   * @throws the signal's reason once it is aborted.
   */
  async take(namespace: string, attempt: Attempt, signal: AbortSignal): Promise<ProbeLease> {
    signal.throwIfAborted();
    const { first, again } = this.#shareOf(namespace);
    const line = attempt.isFirst ? first : again;
    const { promise, resolve: begin, reject } = Promise.withResolvers<ProbeLease>();
    const turn: Turn = { ...attempt, line, begin };
    line.add(turn);
    this.#waiting += 1;
    this.#giveTurns();
    if (!line.has(turn)) return promise;
    using _leaving = onAbort(signal, () => {
      if (line.delete(turn)) this.#waiting -= 1;
      reject(signal.reason);
    });
    return await promise;
  }

  #shareOf(namespace: string): Share {
    this.#fill();
    if (this.#waiting === 0 && this.#permits >= this.#limits.rate.burst) this.#forgetIdle(Number.POSITIVE_INFINITY);
    const known = this.#shares.get(namespace);
    if (known) return known;
    const share: Share = { first: new Set(), again: new Set(), open: 0, used: this.#floor };
    this.#shares.set(namespace, share);
    return share;
  }

  #giveTurns(): void {
    this.#fill();
    while (this.#waiting > 0) {
      if (this.#permits < wholePermit) return this.#giveTurnsLater();
      const share = this.#next();
      const [turn] = share?.first.size ? share.first : (share?.again ?? []);
      if (!share || !turn) return; // until a place is free
      turn.line.delete(turn);
      this.#waiting -= 1;
      // Permits do not accumulate while it wanted none, or while no place was free.
      share.used = Math.max(share.used, this.#floor);
      this.#floor = share.used;
      turn.begin(this.#lend(share, turn.count));
    }
  }

  #giveTurnsLater(): void {
    const waitMs = ((1 - this.#permits) / this.#limits.rate.perSecond) * 1_000;
    this.#timer ??= this.#clock.after(waitMs, () => {
      this.#timer = undefined;
      this.#giveTurns();
    });
  }

  /** Among the waiting namespaces with room, the one with the lowest use. */
  #next(): Share | undefined {
    let next: Share | undefined;
    for (const share of this.#shares.values()) {
      const mayBegin = wants(share) && this.#hasRoom(share);
      if (mayBegin && (!next || share.used < next.used)) next = share;
    }
    return next;
  }

  #hasRoom(share: Share): boolean {
    const { openMax, openOfNamespaceMax } = this.#limits;
    const free = openMax - this.#open;
    if (free <= 0 || share.open >= openOfNamespaceMax) return false;
    return free > this.#sharedPlaces || share.open < free;
  }

  /** A turn may take more permits than are left: the next turn then waits longer. */
  #lend(share: Share, count: number): ProbeLease {
    let lent = 0;
    const more = (added: number) => {
      lent += added;
      share.open += added;
      share.used += added;
      this.#open += added;
      this.#permits -= added;
    };
    more(count);
    return {
      add: () => more(1),
      [Symbol.dispose]: () => {
        share.open -= lent;
        this.#open -= lent;
        lent = 0;
        this.#giveTurns();
        this.#forgetIdle(this.#floor);
      },
    };
  }

  #fill(): void {
    const { perSecond, burst } = this.#limits.rate;
    const nowMs = this.#clock.ticksMs();
    this.#permits = Math.min(burst, this.#permits + ((nowMs - this.#filledMs) / 1_000) * perSecond);
    this.#filledMs = nowMs;
  }

  /** A namespace is forgotten once its use is not above the starting level. */
  #forgetIdle(usedMax: number): void {
    for (const [namespace, share] of this.#shares) {
      if (!wants(share) && share.open === 0 && share.used <= usedMax) this.#shares.delete(namespace);
    }
  }
}

const wants = ({ first, again }: Share): boolean => first.size > 0 || again.size > 0;

/** The connections that an attempt may begin. */
export interface ProbeLease extends Disposable {
  /** Counts one more connection without a wait: the next attempts wait for it. */
  add(): void;
}
