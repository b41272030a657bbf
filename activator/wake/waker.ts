import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, ApiUnreachable, isConflict, isNotFound } from "../../kube/client/errors.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import { PermitQueues } from "../../lib/queues/permit-queues.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/error-codes.ts";

export interface Wake {
  /** Whether this caller's request caused the wake. */
  readonly mine: boolean;
  /** Monotonic milliseconds of the answer to our patch; undefined if another client changed the sandbox first. */
  readonly patchedMs: number | undefined;
  /** The sandbox as that answer shows it. */
  readonly answer: Stored<Sandbox> | undefined;
}

type Answer = Pick<Wake, "patchedMs" | "answer">;

/**
 * The wake of one sandbox.
 *
 *   queued ──permit──▶ asking ──answer──▶ over
 *      │                 │  ▲
 *      │           no answer │
 *      │                 ▼  │
 *      ├───────────── pausing
 *      └─▶ over                  (queued or pausing, and no request wants it)
 */
interface Flight {
  phase: "queued" | "asking" | "pausing" | "over";
  /** The version that the last caller saw before the patch was sent. */
  sandbox: Stored<Sandbox>;
  readonly stop: AbortController;
  answered: Promise<Answer>;
  waiters: number;
  /** Monotonic milliseconds until which a client that left is expected back. */
  wantedUntilMs: number;
  wantedTimer: Timer | undefined;
  /** Whether a caller learned that this wake is its own. */
  isHeard: boolean;
}

export interface WakerOptions {
  /** The limits of one namespace. */
  readonly rate: Rate;
  readonly clock: Clock;
  /** Called for a wake without a caller at that moment. */
  readonly onUnheard?: (sandbox: Stored<Sandbox>) => void;
}

// The API server may be away for a while; held requests outlive that, and each sandbox has one caller.
const backoff: Backoff = { baseMs: 50, maxMs: 1_000, jitter: 0.5 };
/** The limit of one attempt, in milliseconds. A lost patch shows as a conflict at the retry. */
const attemptLimitMs = 5_000;
const longestRateWaitMs = 10_000;
/** The watch reports our own patch long before that. */
const rememberMs = 60_000;
/** A browser with the wait page requests again after a second; after this time it is slow, or its tab is closed. Milliseconds. */
const comesBackMs = 10_000;

/**
 * Wakes sandboxes: one patch for each version of a sandbox, whatever the number of requests. Each sandbox has one place in the
 * queue of its namespace, so repeated requests for one sandbox delay no other.
 */
export class Waker implements Disposable {
  readonly #client: KubeClient;
  readonly #options: WakerOptions;
  readonly #permits: PermitQueues;
  readonly #flights = new Map<string, Flight>();

  constructor(client: KubeClient, options: WakerOptions) {
    this.#client = client;
    this.#options = options;
    this.#permits = new PermitQueues(options.rate, options.clock);
  }

  /**
   * Resolves once the API server has answered; the watch reports the result. Retries while the API server is away, until no
   * caller is left. A patch in flight is not cancelled.
   *
   * @throws ActivatorError if the patch is rejected or the namespace exceeds its rate limit; the signal's reason when aborted.
   */
  async wake(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<Wake> {
    signal.throwIfAborted();
    const flight = this.#flightFor(sandbox);
    flight.waiters += 1;
    try {
      const answer = await abortable(flight.answered, signal);
      const mine = !flight.isHeard;
      flight.isHeard = true;
      return { mine, ...answer };
    } finally {
      flight.waiters -= 1;
      this.#unlessWanted(flight);
    }
  }

  /** A client leaves and will request this sandbox again soon: its wake keeps its place for a while. */
  comesBack(uid: string): void {
    const flight = this.#flights.get(uid);
    if (!flight || flight.phase === "over") return;
    flight.wantedUntilMs = this.#options.clock.ticksMs() + comesBackMs;
  }

  /** Cancels every wake whose patch is not in flight. */
  [Symbol.dispose](): void {
    for (const flight of this.#flights.values()) if (mayStop(flight)) this.#giveUp(flight);
  }

  #flightFor(sandbox: Stored<Sandbox>): Flight {
    const running = this.#flights.get(sandbox.metadata.uid);
    if (running && mayStop(running)) {
      running.sandbox = sandbox; // it keeps its place in the queue
      return running;
    }
    const isSame = running?.sandbox.metadata.resourceVersion === sandbox.metadata.resourceVersion;
    return running && isSame ? running : this.#start(sandbox);
  }

  #start(sandbox: Stored<Sandbox>): Flight {
    const { uid } = sandbox.metadata;
    const flight: Flight = {
      ...{ phase: "queued", sandbox, stop: new AbortController(), answered: never, waiters: 0 },
      ...{ wantedUntilMs: Number.NEGATIVE_INFINITY, wantedTimer: undefined, isHeard: false },
    };
    this.#flights.set(uid, flight);
    flight.answered = this.#ask(flight);
    const forget = () => {
      this.#end(flight);
      if (this.#flights.get(uid) === flight) this.#flights.delete(uid);
    };
    const remember = ({ answer }: Answer) => {
      this.#end(flight);
      if (flight.waiters === 0 && answer) this.#reportUnheard(flight, answer);
      this.#options.clock.after(rememberMs, forget);
    };
    flight.answered.then(remember, forget);
    return flight;
  }

  #end(flight: Flight): void {
    flight.phase = "over";
    flight.wantedTimer?.cancel();
  }

  #reportUnheard(flight: Flight, answer: Stored<Sandbox>): void {
    flight.isHeard = true;
    this.#options.onUnheard?.(answer);
  }

  #unlessWanted(flight: Flight): void {
    if (!mayStop(flight) || flight.waiters > 0) return;
    const { clock } = this.#options;
    const leftMs = flight.wantedUntilMs - clock.ticksMs();
    flight.wantedTimer?.cancel();
    if (leftMs > 0) flight.wantedTimer = clock.after(leftMs, () => this.#unlessWanted(flight));
    else this.#giveUp(flight);
  }

  // Removed at once: a new caller must not join a cancelled wake.
  #giveUp(flight: Flight): void {
    const { uid } = flight.sandbox.metadata;
    if (this.#flights.get(uid) === flight) this.#flights.delete(uid);
    flight.stop.abort(new Error("no request waits for this wake"));
  }

  async #ask(flight: Flight): Promise<Answer> {
    const { name: subject, namespace = "" } = flight.sandbox.metadata;
    const { signal } = flight.stop;
    const permit = this.#permits.take(namespace, longestRateWaitMs, signal);
    if (!permit) throw new ActivatorError("WakeRateLimited", { subject });
    await permit;
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      flight.phase = "asking";
      try {
        const answer = await this.#patch(flight.sandbox);
        return { patchedMs: this.#options.clock.ticksMs(), answer };
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) return { patchedMs: undefined, answer: undefined };
        if (!mayPass(error)) throw new ActivatorError("WakeRefused", { subject, cause: error });
        flight.phase = "pausing";
        this.#unlessWanted(flight);
        await this.#options.clock.sleep(backoffDelayMs(failures, backoff), signal);
      }
    }
  }

  /** Limited by its own timeout alone: its callers may leave. */
  async #patch({ metadata }: Stored<Sandbox>): Promise<Stored<Sandbox>> {
    const attempt = new AbortController();
    const giveUp = () => attempt.abort(new ApiUnreachable("no answer in time"));
    using _limit = this.#options.clock.after(attemptLimitMs, giveUp);
    const { namespace, name, resourceVersion } = metadata;
    // With the seen resourceVersion: another client's change since then had a reason unknown to us.
    const body = { metadata: { resourceVersion }, spec: { operatingMode: "Running" } };
    return await this.#client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, attempt.signal);
  }
}

/** Whether no patch is in flight: a patch that was sent is awaited. */
const mayStop = ({ phase }: Flight): boolean => phase === "queued" || phase === "pausing";

/** Undefined only while a flight is being created. */
const never: Promise<Answer> = new Promise(() => {});

const mayPass = (error: unknown) =>
  error instanceof ApiUnreachable ||
  (error instanceof ApiError && (error.code >= 500 || error.code === 429 || error.code === 401 || error.code === 408));
