import type { Stored } from "../../api/kinds/meta.ts";
import { mayAskToRun } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, ApiUnreachable, isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { Change } from "../../kube/informer/informer.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import { PermitQueues } from "../../lib/queues/permit-queues.ts";
import type { Rate } from "../../lib/queues/token-buckets.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { type SlimSandbox, slimSandbox, slimSandboxType } from "../sandbox/slim-sandbox.ts";

export interface Wake {
  /** Whether this caller's request caused the wake. */
  readonly mine: boolean;
  /** Monotonic milliseconds of the answer to our patch; undefined if another client changed the sandbox first. */
  readonly patchedMs: number | undefined;
  /** The sandbox as that answer shows it; undefined for all callers but the one whose request caused the wake. */
  readonly answer: Stored<SlimSandbox> | undefined;
}

type Answer = Pick<Wake, "patchedMs" | "answer">;

// Another client changed the sandbox first.
const overtaken: Answer = { patchedMs: undefined, answer: undefined };

/** Names one version of a sandbox. Whole versions are not kept: each has up to 1.5 MiB, and its owner makes many. */
interface Version {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

/**
 * The wake of one sandbox.
 *
 *   queued ──permit──▶ asking ──answer──▶ over
 *      │                 │  ▲
 *      │           no answer │
 *      │                 ▼  │
 *      ├───────────── pausing
 *      └─▶ over                  (queued or pausing, and no request wants it, or the sandbox needs no wake any more)
 */
interface Flight {
  phase: "queued" | "asking" | "pausing" | "over";
  /** The version that the last caller saw before the patch was sent. */
  version: Version;
  readonly stop: AbortController;
  /** Resolves once `patchedMs` and `answer` are known. */
  ended: Promise<void>;
  patchedMs: number | undefined;
  /** Dropped once a caller has learned that this wake is its own. */
  answer: Stored<SlimSandbox> | undefined;
  waiters: number;
  /** Monotonic milliseconds until which a client that left is expected back. */
  wantedUntilMs: number;
  wantedTimer: Timer | undefined;
  /** Whether a caller learned that this wake is its own. */
  isHeard: boolean;
  /** Whether the sandbox was seen awake, or gone: no further patch is sent. */
  isNeedless: boolean;
}

/** What is remembered of the last wake of a sandbox. */
interface PastWake extends Pick<Wake, "patchedMs"> {
  readonly resourceVersion: string;
  readonly forgetting: Timer;
}

export interface WakerOptions {
  /** The limits of one namespace. */
  readonly rate: Rate;
  readonly clock: Clock;
  /** Called for a wake without a caller at that moment. */
  readonly onUnheard?: (sandbox: Stored<SlimSandbox>) => void;
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
  /** The wakes that are not over, by UID. */
  readonly #flights = new Map<string, Flight>();
  /** By UID. */
  readonly #past = new Map<string, PastWake>();

  constructor(client: KubeClient, options: WakerOptions) {
    this.#client = client;
    this.#options = options;
    this.#permits = new PermitQueues(options.rate, options.clock);
  }

  /**
   * Resolves once the API server has answered, or once the sandbox needs no wake any more; the watch reports the result. Retries
   * while the API server is away, until no caller is left. A patch in flight is not cancelled.
   *
   * @throws ActivatorError if the patch is rejected or the namespace exceeds its rate limit; the signal's reason when aborted.
   */
  wake(sandbox: Stored<SlimSandbox>, signal: AbortSignal): Promise<Wake> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const version = versionOf(sandbox);
    const flight = this.#joinable(version);
    if (flight) return this.#join(flight, signal);
    const past = this.#past.get(version.uid);
    if (past?.resourceVersion === version.resourceVersion) {
      return Promise.resolve({ mine: false, patchedMs: past.patchedMs, answer: undefined });
    }
    return this.#join(this.#start(version), signal);
  }

  /** A client leaves and will request this sandbox again soon: its wake keeps its place for a while. */
  comesBack(uid: string): void {
    const flight = this.#flights.get(uid);
    if (flight) flight.wantedUntilMs = this.#options.clock.ticksMs() + comesBackMs;
  }

  /**
   * The watch shows a change. A wake that is not needed any more ends, and leaves its place in the queue; one that is needed will
   * patch the newer version. A patch in flight is awaited: its own effect is often seen before its answer.
   */
  sandboxChanged({ previous, current }: Change<SlimSandbox>): void {
    if (previous && previous.metadata.uid !== current?.metadata.uid) this.#needless(previous.metadata.uid);
    if (current && !mayAskToRun(current)) this.#needless(current.metadata.uid);
    const flight = current && this.#flights.get(current.metadata.uid);
    if (!flight || !mayAskToRun(current)) return;
    flight.isNeedless = false;
    if (mayStop(flight)) flight.version = versionOf(current);
  }

  /** Cancels every wake. A patch in flight is still answered, and is not sent again. */
  [Symbol.dispose](): void {
    for (const flight of this.#flights.values()) this.#giveUp(flight);
    for (const uid of this.#past.keys()) this.#forget(uid);
  }

  #needless(uid: string): void {
    const flight = this.#flights.get(uid);
    if (!flight) return;
    flight.isNeedless = true;
    if (mayStop(flight)) this.#giveUp(flight);
  }

  #joinable(version: Version): Flight | undefined {
    const running = this.#flights.get(version.uid);
    if (!running) return undefined;
    if (mayStop(running)) running.version = version; // it keeps its place in the queue
    return running.version.resourceVersion === version.resourceVersion ? running : undefined;
  }

  // It holds no sandbox while it waits.
  async #join(flight: Flight, signal: AbortSignal): Promise<Wake> {
    flight.waiters += 1;
    try {
      await abortable(flight.ended, signal);
      const { patchedMs, answer, isHeard } = flight;
      flight.isHeard = true;
      flight.answer = undefined;
      return { mine: !isHeard, patchedMs, answer };
    } finally {
      flight.waiters -= 1;
      this.#unlessWanted(flight);
      this.#unlessHeard(flight);
    }
  }

  #start(version: Version): Flight {
    const { uid } = version;
    const flight: Flight = {
      ...{ phase: "queued", version, stop: new AbortController(), ended: never, patchedMs: undefined },
      ...{ answer: undefined, waiters: 0, isHeard: false, isNeedless: false },
      ...{ wantedUntilMs: Number.NEGATIVE_INFINITY, wantedTimer: undefined },
    };
    this.#forget(uid);
    this.#flights.set(uid, flight);
    flight.ended = this.#ask(flight).then(
      (answer) => this.#succeeded(flight, answer),
      (error: unknown) => {
        this.#end(flight);
        if (!flight.isNeedless) throw error;
      },
    );
    flight.ended.catch(() => {}); // its callers get it, and may have left
    return flight;
  }

  #succeeded(flight: Flight, { patchedMs, answer }: Answer): void {
    const isLast = this.#end(flight);
    flight.patchedMs = patchedMs;
    flight.answer = answer;
    this.#unlessHeard(flight);
    if (!isLast) return;
    const { uid, resourceVersion } = flight.version;
    const forgetting = this.#options.clock.after(rememberMs, () => this.#past.delete(uid));
    this.#past.set(uid, { resourceVersion, patchedMs, forgetting });
  }

  /** Returns whether no wake of a newer version has begun. */
  #end(flight: Flight): boolean {
    flight.phase = "over";
    flight.wantedTimer?.cancel();
    return this.#leave(flight);
  }

  #leave(flight: Flight): boolean {
    const { uid } = flight.version;
    return this.#flights.get(uid) === flight && this.#flights.delete(uid);
  }

  #forget(uid: string): void {
    this.#past.get(uid)?.forgetting.cancel();
    this.#past.delete(uid);
  }

  /** Reports a wake whose callers have all left. */
  #unlessHeard(flight: Flight): void {
    const { answer } = flight;
    if (!answer || flight.waiters > 0) return;
    flight.isHeard = true;
    flight.answer = undefined;
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
    this.#leave(flight);
    flight.stop.abort(new Error("no request waits for this wake"));
  }

  async #ask(flight: Flight): Promise<Answer> {
    const { name: subject, namespace } = flight.version;
    const { signal } = flight.stop;
    const permit = this.#permits.take(namespace, longestRateWaitMs, signal);
    if (!permit) throw new ActivatorError("WakeRateLimited", { subject });
    await permit;
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      flight.phase = "asking";
      try {
        const answer = slimSandbox(await this.#patch(flight.version));
        return { patchedMs: this.#options.clock.ticksMs(), answer };
      } catch (error) {
        if (isConflict(error) || isNotFound(error) || flight.isNeedless) return overtaken;
        if (!mayPass(error)) throw new ActivatorError("WakeRefused", { subject, cause: error });
        flight.phase = "pausing";
        this.#unlessWanted(flight);
        await this.#options.clock.sleep(backoffDelayMs(failures, backoff), signal);
      }
    }
  }

  /** Limited by its own timeout alone: its callers may leave. */
  async #patch({ namespace, name, resourceVersion }: Version): Promise<Stored<SlimSandbox>> {
    const attempt = new AbortController();
    const giveUp = () => attempt.abort(new ApiUnreachable("no answer in time"));
    using _limit = this.#options.clock.after(attemptLimitMs, giveUp);
    // With the seen resourceVersion: another client's change since then had a reason unknown to us.
    const body = { metadata: { resourceVersion }, spec: { operatingMode: "Running" } };
    const patch = { type: "merge", body } as const;
    return await this.#client.patch(slimSandboxType, { namespace, name }, patch, {}, attempt.signal);
  }
}

function versionOf({ metadata: { uid, namespace = "", name, resourceVersion } }: Stored<SlimSandbox>): Version {
  return { uid, namespace, name, resourceVersion };
}

/** Whether no patch is in flight: a patch that was sent is awaited. */
const mayStop = ({ phase }: Flight): boolean => phase === "queued" || phase === "pausing";

/** Of a flight that is being created. */
const never: Promise<void> = new Promise(() => {});

const mayPass = (error: unknown) =>
  error instanceof ApiUnreachable ||
  (error instanceof ApiError && (error.code >= 500 || error.code === 429 || error.code === 401 || error.code === 408));
