import { type Lease, leaseType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Logger } from "../../lib/log/log.ts";
import { aborted, startTask } from "../../lib/process/lifecycle.ts";
import { backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { ageMs, type ClockReading, readClocks } from "../../lib/time/clock-jumps.ts";
import type { KubeClient } from "../client/client.ts";
import { ApiUnreachable, isAlreadyExists, isConflict, isNotFound } from "../client/errors.ts";
import { heldBy, isFree, type LeaseObservation, type LeaseSpec, observe, released } from "./lease-record.ts";

export interface LeaderElection extends AsyncDisposable {
  /** Resolves once this process leads; never if disposed before that. */
  readonly elected: Promise<void>;
  /** Rejects with `LeadershipLost` when this process led and must stop; never resolves. The process must exit then. */
  readonly lost: Promise<never>;
  isLeader(): boolean;
  /**
   * For each call that only a leader makes: after a suspension of the machine another may lead before any timer runs here.
   *
   * @throws LeadershipLost when this process led, and its lease is over.
   */
  confirm(): void;
}

export interface LeaderElectionOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Unique among all candidates, also over restarts. */
  readonly identity: string;
  /** Absent: `usualLeaseTimes`. */
  readonly times?: LeaseTimes;
  /** Absent: this process can always lead. */
  readonly fitness?: Fitness;
}

/** Whether this process can do the work of a leader. */
export interface Fitness {
  /** Resolves once it can, or when the signal is aborted. */
  untilFit(signal: AbortSignal): Promise<void>;
  /** Why a leader must give up; undefined while it need not. */
  reasonToYield(): string | undefined;
}

/** In milliseconds; each is shorter than the one before. */
export interface LeaseTimes {
  /** A lease that was not renewed for this time is free. Whole seconds: the Lease stores seconds. */
  readonly leaseMs: number;
  /** A leader that could not renew for this time gives up, before another may take over. */
  readonly renewLimitMs: number;
  readonly retryMs: number;
}

/** This process led, and another may lead by now. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

/** The defaults of the ecosystem's controllers. */
export const usualLeaseTimes: LeaseTimes = { leaseMs: 15_000, renewLimitMs: 10_000, retryMs: 2_000 };
const releaseLimitMs = 2_000;

/**
 * Takes part in the election until disposed. Disposing releases the lease, so that another candidate leads within its
 * next retry instead of after the expiry. All work that requires leadership must have ended before.
 */
export function startLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const elected = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // a caller that ignores it must not get an unhandled rejection
  const candidate = new Candidate(options);
  let leads = false;
  const lose = (loss: LeadershipLost) => {
    leads = false;
    lost.reject(loss);
  };

  const task = startTask("the leader election", async (signal) => {
    if (!(await candidate.acquire(signal))) return;
    leads = true;
    elected.resolve();
    const loss = await candidate.renewUntilLost(signal);
    leads = false;
    if (loss) lose(loss);
    await aborted(signal);
  });
  task.failed.catch((cause: unknown) => lose(new LeadershipLost("the leader election failed", { cause })));

  return {
    elected: elected.promise,
    lost: lost.promise,
    isLeader: () => leads && !candidate.isOver(),
    confirm() {
      if (!candidate.isOver()) return;
      const loss = candidate.notRenewed();
      lose(loss);
      throw loss;
    },
    async [Symbol.asyncDispose]() {
      await task[Symbol.asyncDispose]();
      await candidate.release();
    },
  };
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #times: LeaseTimes;
  #seen: LeaseObservation | undefined;
  /**
   * The start of the last successful request, because the server may have counted from then. Absent before this process leads.
   * By both clocks: while the machine is suspended, monotonic time stands still.
   */
  #renewed: ClockReading | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#times = options.times ?? usualLeaseTimes;
  }

  /** Whether this process had the lease, and has not renewed it for too long by either clock. */
  isOver(): boolean {
    const { clock } = this.#options;
    return this.#renewed !== undefined && ageMs(this.#renewed, readClocks(clock)) >= this.#times.renewLimitMs;
  }

  notRenewed(): LeadershipLost {
    return new LeadershipLost(`the lease was not renewed for ${this.#times.renewLimitMs / 1_000} s`);
  }

  /** Whether it succeeded; false when aborted before. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const { renewLimitMs, retryMs } = this.#times;
    while (!signal.aborted) {
      await this.#untilFit(signal);
      if (signal.aborted) break;
      const began = readClocks(clock);
      if (await this.#attempt(renewLimitMs, signal)) {
        this.#renewed = began;
        return true;
      }
      // With jitter, so that candidates that started together do not conflict at every retry.
      const delayMs = backoffDelayMs(1, { baseMs: retryMs, maxMs: retryMs, jitter: 0.2 });
      await clock.sleep(delayMs, signal).catch(() => {});
    }
    return false;
  }

  /** The reason why leadership ended; undefined when aborted before. */
  async renewUntilLost(signal: AbortSignal): Promise<LeadershipLost | undefined> {
    const { clock, identity, fitness } = this.#options;
    const { retryMs } = this.#times;
    for (;;) {
      await clock.sleep(Math.min(retryMs, this.#leftMs()), signal).catch(() => {});
      if (signal.aborted) return undefined;
      const reason = fitness?.reasonToYield();
      if (reason !== undefined) return new LeadershipLost(reason);
      // Checked before the next request, because this process may have been stopped for any time in between.
      if (this.isOver()) return this.notRenewed();
      const began = readClocks(clock);
      if (await this.#attempt(this.#leftMs(), signal)) this.#renewed = began;
      const holder = this.#seen?.lease.spec?.holderIdentity;
      if (holder && holder !== identity) return new LeadershipLost(`${holder} holds the lease`);
    }
  }

  /** Milliseconds for the next renewal. */
  #leftMs(): number {
    const now = readClocks(this.#options.clock);
    return this.#times.renewLimitMs - (this.#renewed ? ageMs(this.#renewed, now) : 0);
  }

  /** Releases the lease if it is still ours. Otherwise it expires by itself. */
  async release(): Promise<void> {
    const { client, clock, identity, log } = this.#options;
    if (this.#seen?.lease.spec?.holderIdentity !== identity) return;
    try {
      using limit = timeLimit(clock, releaseLimitMs);
      // Read again: our last renewal may have been written without a response.
      const lease = await this.#readLease(limit.signal);
      if (lease?.spec?.holderIdentity !== identity) return;
      await client.replace(leaseType, { ...lease, spec: released(lease.spec, clock.now()) }, {}, limit.signal);
    } catch (error) {
      log.warn({ err: error }, "could not release the Lease; it expires by itself");
    }
  }

  /** Reads the Lease meanwhile: the expiry of a leader that is gone counts from the first read. */
  async #untilFit(signal: AbortSignal): Promise<void> {
    const { fitness, clock } = this.#options;
    if (!fitness) return;
    const look = async () => {
      if (this.#seen) return;
      using limit = timeLimit(clock, this.#times.renewLimitMs);
      // The attempt that follows reports the same failure.
      await this.#readLease(AbortSignal.any([signal, limit.signal])).catch(() => {});
    };
    await Promise.all([look(), fitness.untilFit(signal)]);
  }

  /** Tries once to acquire or renew the lease. */
  async #attempt(limitMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    using limit = timeLimit(clock, limitMs);
    try {
      return await this.#hold(AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      // Another candidate was first; the next read shows its name.
      if (!signal.aborted && !isConflict(error) && !isAlreadyExists(error)) {
        log.warn({ err: error }, "could not read or write the Lease; retrying");
      }
      return false;
    }
  }

  async #hold(signal: AbortSignal): Promise<boolean> {
    const { client, clock, namespace, name, identity } = this.#options;
    const { leaseMs } = this.#times;
    const lease = await this.#readLease(signal);
    if (this.#seen && !isFree(this.#seen, identity, leaseMs, clock.ticksMs())) return false;
    const spec = heldBy(lease?.spec, identity, leaseMs, clock.now());
    const written = lease
      ? await client.replace(leaseType, { ...lease, spec }, {}, signal)
      : await client.create(leaseType, newLease(namespace, name, spec), {}, signal);
    this.#seen = observe(this.#seen, written, clock.ticksMs());
    return true;
  }

  async #readLease(signal: AbortSignal): Promise<Stored<Lease> | undefined> {
    const { client, clock, namespace, name } = this.#options;
    try {
      const lease = await client.get(leaseType, { namespace, name }, signal);
      this.#seen = observe(this.#seen, lease, clock.ticksMs());
      return lease;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#seen = undefined;
      return undefined;
    }
  }
}

const newLease = (namespace: string, name: string, spec: LeaseSpec): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace, name },
  spec,
});

function timeLimit(clock: Clock, limitMs: number): { readonly signal: AbortSignal } & Disposable {
  const limit = new AbortController();
  const timer = clock.after(limitMs, () => limit.abort(new ApiUnreachable(`no response within ${limitMs} ms`)));
  return { signal: limit.signal, [Symbol.dispose]: () => timer.cancel() };
}
