import type { Stored } from "../../api/meta.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import { ApiError, ApiUnreachable, isConflict, isNotFound } from "../../kube/errors.ts";
import { type Backoff, backoffDelayMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { abortable } from "../../lib/lifecycle.ts";
import { type Rate, TokenBuckets } from "../../lib/token-buckets.ts";
import { ActivatorError } from "../errors.ts";

export interface Wake {
  /** Whether this caller's request is the one that woke. */
  readonly mine: boolean;
  /** Monotonic milliseconds of the answer to our patch; undefined when somebody else changed the sandbox first. */
  readonly patchedMs: number | undefined;
  /** The sandbox as that answer shows it. */
  readonly answer: Stored<Sandbox> | undefined;
}

type Answer = Pick<Wake, "patchedMs" | "answer">;

interface Flight {
  readonly resourceVersion: string;
  readonly answered: Promise<Answer>;
  readonly stop: AbortController;
  waiters: number;
  over: boolean;
}

// The API server may be away for a while; held requests outlive that, and there is one caller for each sandbox.
const backoff: Backoff = { baseMs: 50, maxMs: 1_000, jitter: 0.5 };
/** One attempt; a patch that was lost on the way shows as a conflict when it is sent again. */
const attemptLimitMs = 5_000;
const longestRateWaitMs = 10_000;
/** The watch tells us of our own patch long before that. */
const rememberMs = 60_000;

/** Asks for sandboxes to run: one patch for each version of a sandbox, however many requests wait for it. */
export class Waker {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #buckets: TokenBuckets;
  readonly #flights = new Map<string, Flight>();

  constructor(client: KubeClient, rate: Rate, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#buckets = new TokenBuckets(rate, clock);
  }

  /**
   * Resolves once the API server has answered; what came of it is told by the watch. Keeps trying while the API
   * server is away, until nobody waits any more.
   *
   * @throws ActivatorError when the patch is refused or the namespace wakes too many; the signal's reason when aborted.
   */
  async wake(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<Wake> {
    signal.throwIfAborted();
    const { uid, resourceVersion } = sandbox.metadata;
    const running = this.#flights.get(uid);
    const mine = running?.resourceVersion !== resourceVersion;
    const flight = mine ? this.#start(sandbox) : running;
    flight.waiters += 1;
    try {
      return { mine, ...(await abortable(flight.answered, signal)) };
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0 && !flight.over) this.#abandon(uid, flight);
    }
  }

  // Out of the map at once: whoever comes next must not join what was just given up.
  #abandon(uid: string, flight: Flight): void {
    if (this.#flights.get(uid) === flight) this.#flights.delete(uid);
    flight.stop.abort(new Error("nobody waits for this wake any more"));
  }

  #start(sandbox: Stored<Sandbox>): Flight {
    const { uid, resourceVersion } = sandbox.metadata;
    const stop = new AbortController();
    const flight: Flight = {
      resourceVersion,
      answered: this.#ask(sandbox, stop.signal),
      stop,
      waiters: 0,
      over: false,
    };
    this.#flights.set(uid, flight);
    const forget = () => {
      flight.over = true;
      if (this.#flights.get(uid) === flight) this.#flights.delete(uid);
    };
    const remember = () => {
      flight.over = true;
      this.#clock.after(rememberMs, forget);
    };
    flight.answered.then(remember, forget);
    return flight;
  }

  async #ask(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<Answer> {
    const subject = sandbox.metadata.name;
    const waitMs = this.#buckets.take(sandbox.metadata.namespace ?? "", longestRateWaitMs);
    if (waitMs === undefined) throw new ActivatorError("WakeRateLimited", { subject });
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    for (let failures = 1; ; failures += 1) {
      try {
        const answer = await this.#patch(sandbox, signal);
        return { patchedMs: this.#clock.ticksMs(), answer };
      } catch (error) {
        signal.throwIfAborted();
        if (isConflict(error) || isNotFound(error)) return { patchedMs: undefined, answer: undefined };
        if (!mayPass(error)) throw new ActivatorError("WakeRefused", { subject, cause: error });
        await this.#clock.sleep(backoffDelayMs(failures, backoff), signal);
      }
    }
  }

  async #patch({ metadata }: Stored<Sandbox>, signal: AbortSignal): Promise<Stored<Sandbox>> {
    const attempt = new AbortController();
    using _limit = this.#clock.after(attemptLimitMs, () => attempt.abort(new ApiUnreachable("no answer in time")));
    const { namespace, name, resourceVersion } = metadata;
    // Under the version that was seen: whoever changed the sandbox meanwhile had a reason that we do not know.
    const body = { metadata: { resourceVersion }, spec: { operatingMode: "Running" } };
    const merge = { type: "merge", body } as const;
    return this.#client.patch(sandboxType, { namespace, name }, merge, {}, AbortSignal.any([signal, attempt.signal]));
  }
}

const mayPass = (error: unknown) =>
  error instanceof ApiUnreachable ||
  (error instanceof ApiError && (error.code >= 500 || error.code === 429 || error.code === 401 || error.code === 408));
