import { type Lease, leaseType } from "../api/core.ts";
import type { Stored } from "../api/meta.ts";
import { backoffDelayMs } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { aborted, startTask } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/log.ts";
import type { KubeClient } from "./client.ts";
import { ApiUnreachable, isAlreadyExists, isConflict, isNotFound } from "./errors.ts";
import { heldBy, isFree, type LeaseSpec, released, type Sighting, sight } from "./lease-record.ts";

export interface LeaderElection extends AsyncDisposable {
  /** Resolves once we lead; pending for ever when disposed of before that. */
  readonly elected: Promise<void>;
  /** Rejects with `LeadershipLost` when we led and may not go on; never resolves. The process must end then. */
  readonly lost: Promise<never>;
  isLeader(): boolean;
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
}

/** Milliseconds; each is shorter than the one before. */
export interface LeaseTimes {
  /** A lease that was not renewed for so long is free. Whole seconds: the Lease tells it in them. */
  readonly leaseMs: number;
  /** A leader that could not renew for so long gives up, before another may take over. */
  readonly renewLimitMs: number;
  readonly retryMs: number;
}

/** We led, and another may lead by now. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

/** What the ecosystem's controllers use. */
export const usualLeaseTimes: LeaseTimes = { leaseMs: 15_000, renewLimitMs: 10_000, retryMs: 2_000 };
const releaseLimitMs = 2_000;

/**
 * Stands for election until disposed of; disposal gives the lease back, so that another candidate leads within its
 * next try instead of after the lease has run out. Whatever only a leader may do must have ended by then.
 */
export function startLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const elected = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // whoever does not race it must not be killed by it
  const candidate = new Candidate(options);
  let leads = false;

  const task = startTask("the leader election", async (signal) => {
    const acquiredMs = await candidate.acquire(signal);
    if (acquiredMs === undefined) return;
    leads = true;
    elected.resolve();
    const loss = await candidate.renewUntilLost(acquiredMs, signal);
    leads = false;
    if (loss) lost.reject(loss);
    await aborted(signal);
  });
  task.failed.catch((cause: unknown) => {
    leads = false;
    lost.reject(new LeadershipLost("the election broke down", { cause }));
  });

  return {
    elected: elected.promise,
    lost: lost.promise,
    isLeader: () => leads,
    async [Symbol.asyncDispose]() {
      await task[Symbol.asyncDispose]();
      await candidate.release();
    },
  };
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #times: LeaseTimes;
  #seen: Sighting | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#times = options.times ?? usualLeaseTimes;
  }

  /** When the request that made us leader began, in ticks; undefined when aborted before. */
  async acquire(signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#options;
    const { renewLimitMs, retryMs } = this.#times;
    while (!signal.aborted) {
      const beganMs = clock.ticksMs();
      if (await this.#attempt(renewLimitMs, signal)) return beganMs;
      // Spread a little, so that candidates that started together do not meet in a conflict at every try.
      const delayMs = backoffDelayMs(1, { baseMs: retryMs, maxMs: retryMs, jitter: 0.2 });
      await clock.sleep(delayMs, signal).catch(() => {});
    }
    return undefined;
  }

  /** Why we may not lead any longer; undefined when aborted before. */
  async renewUntilLost(acquiredMs: number, signal: AbortSignal): Promise<LeadershipLost | undefined> {
    const { clock, identity } = this.#options;
    const { renewLimitMs, retryMs } = this.#times;
    for (let renewedMs = acquiredMs; ; ) {
      const deadlineMs = renewedMs + renewLimitMs;
      const delayMs = Math.min(retryMs, deadlineMs - clock.ticksMs());
      await clock.sleep(delayMs, signal).catch(() => {});
      if (signal.aborted) return undefined;
      // Counted from the beginning of a request: whoever answers it may have counted from then. And looked at before
      // the next one, because this process may have been stopped for any time in between.
      const beganMs = clock.ticksMs();
      if (beganMs >= deadlineMs) return new LeadershipLost(`the lease was not renewed for ${renewLimitMs / 1_000} s`);
      if (await this.#attempt(deadlineMs - beganMs, signal)) renewedMs = beganMs;
      const holder = this.#seen?.lease.spec?.holderIdentity;
      if (holder && holder !== identity) return new LeadershipLost(`${holder} holds the lease`);
    }
  }

  /** Gives the lease back if it is still ours. Failing that it runs out by itself. */
  async release(): Promise<void> {
    const { client, clock, identity, log } = this.#options;
    if (this.#seen?.lease.spec?.holderIdentity !== identity) return;
    try {
      using limit = timeLimit(clock, releaseLimitMs);
      // Read once more: our last renewal may have been written although its answer was not waited for.
      const lease = await this.#look(limit.signal);
      if (lease?.spec?.holderIdentity !== identity) return;
      await client.replace(leaseType, { ...lease, spec: released(lease.spec, clock.now()) }, {}, limit.signal);
    } catch (error) {
      log.warn({ err: error }, "the lease could not be given back");
    }
  }

  /** Tries once to take or renew the lease. */
  async #attempt(limitMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    using limit = timeLimit(clock, limitMs);
    try {
      return await this.#hold(AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      // Another candidate was first; the next look tells who.
      if (!signal.aborted && !isConflict(error) && !isAlreadyExists(error)) {
        log.warn({ err: error }, "the lease could not be read or written");
      }
      return false;
    }
  }

  async #hold(signal: AbortSignal): Promise<boolean> {
    const { client, clock, namespace, name, identity } = this.#options;
    const { leaseMs } = this.#times;
    const lease = await this.#look(signal);
    if (this.#seen && !isFree(this.#seen, identity, leaseMs, clock.ticksMs())) return false;
    const spec = heldBy(lease?.spec, identity, leaseMs, clock.now());
    const written = lease
      ? await client.replace(leaseType, { ...lease, spec }, {}, signal)
      : await client.create(leaseType, newLease(namespace, name, spec), {}, signal);
    this.#seen = sight(this.#seen, written, clock.ticksMs());
    return true;
  }

  async #look(signal: AbortSignal): Promise<Stored<Lease> | undefined> {
    const { client, clock, namespace, name } = this.#options;
    try {
      const lease = await client.get(leaseType, { namespace, name }, signal);
      this.#seen = sight(this.#seen, lease, clock.ticksMs());
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
  const timer = clock.after(limitMs, () => limit.abort(new ApiUnreachable(`no answer within ${limitMs} ms`)));
  return { signal: limit.signal, [Symbol.dispose]: () => timer.cancel() };
}
