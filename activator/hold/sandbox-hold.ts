import type { Stored } from "../../api/kinds/meta.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import { forEachYielding } from "../../lib/time/yielding.ts";
import { beginUse, type ConnectDeps, type Destination, resolveNow } from "../connect/connect-request.ts";
import { DialError } from "../connect/dial.ts";
import { ActivatorError, toActivatorError } from "../failures/errors-for-clients.ts";
import { isSamePlace } from "../pod-connections/place.ts";
import type { Reached } from "../readiness/prober.ts";
import { type Changes, changeWithin } from "../sandbox/change-signal.ts";
import type { Addressed, Seen, Target } from "../sandbox/resolve.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { Wake } from "../wake/waker.ts";
import { Fifo } from "./fifo.ts";
import type { HeldRequest, HoldProgress } from "./held-request.ts";
import { HoldWake } from "./hold-wake.ts";
import { IgnoredInLine } from "./ignored-in-line.ts";
import { PacedRelease } from "./paced-release.ts";
import { PortPatience } from "./port-patience.ts";

/** Requests whose time is over are rejected in steps, because each step resolves the sandbox again. */
const patienceStepMs = 50;

/**
 * How long a new request waits while a quota is full: the controller retries at least every 30 s, and needs a moment to write
 * the result. Milliseconds.
 */
const quotaPatienceMs = 35_000;

const never = Number.POSITIVE_INFINITY;

const awaitedOf = ({ port, probes }: Target): string =>
  `port ${port} to accept connections${probes.length > 0 ? " and its Pod's readiness probes to pass" : ""}`;

/**
 * The shared work for all requests that wait for one port of one sandbox. It follows each resolution until the port accepts or
 * an error is permanent.
 */
export class SandboxHold implements HoldProgress {
  waitingFor = "its state to be known";
  stuck: ActivatorError | undefined;
  readonly #to: Destination;
  readonly #uid: string | undefined;
  readonly #deps: ConnectDeps;
  readonly #onOver: () => void;
  readonly #line = new Fifo<HeldRequest>();
  readonly #ignored = new IgnoredInLine<HeldRequest>(this.#line);
  readonly #over = new AbortController();
  readonly #patience: PortPatience;
  readonly #wake: HoldWake;
  /** Set while the hold follows the sandbox. */
  #changes: Changes | undefined;
  #isUsed = false;
  /** The last time without a failure, in monotonic milliseconds; undefined: there has been a failure from the start. */
  #clearMs: number | undefined;

  /** `uid`: the UID of the awaited sandbox, if known; a sandbox with another UID does not match. */
  constructor(to: Destination, uid: string | undefined, deps: ConnectDeps, onOver: () => void) {
    this.#to = to;
    this.#uid = uid;
    this.#deps = deps;
    this.#patience = new PortPatience(deps.options.dialRetryMs);
    this.#onOver = onOver;
    this.#wake = new HoldWake({
      waker: deps.waker,
      signal: this.#over.signal,
      onWoke: (wake, sandbox) => this.#woke(wake, sandbox),
      onOver: () => this.#changes?.notify(),
    });
  }

  join(waiter: HeldRequest): void {
    this.#line.join(waiter);
    this.#ignored.joined(waiter);
    if (this.#line.size === 1) runGuarded("wake", () => this.#run());
  }

  left(waiter: HeldRequest): void {
    this.#line.leave(waiter);
    this.#ignored.left(waiter);
    if (this.#line.size === 0) this.#end(new Error("no request waits any more"));
  }

  async #run(): Promise<void> {
    const { cluster } = this.#deps;
    try {
      using changes = cluster.listen(this.#to.namespace, this.#to.name);
      this.#changes = changes;
      while (!this.#over.signal.aborted) {
        changes.reset();
        const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
        if (seen.is === "refused") throw seen.error;
        const preparing = this.#prepare();
        if (preparing)
          await preparing; // what was seen may be old by now
        else await this.#step(seen, changes);
      }
    } catch (error) {
      // New requests start a hold of their own.
      this.#end(new Error("it has failed"));
      await forEachYielding(this.#line, (waiter) => waiter.end(toActivatorError(error)));
    }
  }

  #end(reason: Error): void {
    if (this.#over.signal.aborted) return;
    this.#onOver();
    this.#over.abort(reason);
  }

  /** Resolves when the sandbox must be resolved again. */
  async #step(seen: Seen, changes: Changes): Promise<void> {
    const { clock } = this.#deps;
    if (seen.is !== "asleep") this.#wake.seenAwake();
    this.stuck = seen.is === "pending" ? seen.stuck : undefined;
    if (!this.stuck) this.#clearMs = clock.ticksMs();
    switch (seen.is) {
      case "asleep":
        this.waitingFor = this.#wake.seenAsleep(seen.sandbox);
        return this.#changeWithin(changes, seen.recheckAfterMs);
      case "pending":
        this.waitingFor = seen.on;
        return this.#changeWithin(
          changes,
          Math.min(seen.stuck ? await this.#refuseStuck(seen.stuck) : never, seen.recheckAfterMs),
        );
      case "addressed":
        this.waitingFor = awaitedOf(seen.target);
        return this.#reachTarget(seen, changes);
    }
  }

  /** The work for each request of the line that a change of the sandbox causes, in turns. Undefined: there is none. */
  #prepare(): Promise<void> | undefined {
    const { cluster } = this.#deps;
    const sandbox = cluster.synced ? cluster.sandbox(this.#to.namespace, this.#to.name) : undefined;
    if (sandbox && !this.#isUsed) {
      this.#isUsed = true; // requests that join from now on know the sandbox
      return forEachYielding(this.#line, ({ connectRequest }) => beginUse(connectRequest));
    }
    // They must not wake either.
    return this.#ignored.find(sandbox?.spec, (waiter) => {
      const seen = resolveNow(this.#to, waiter.head, this.#uid, this.#deps);
      if (seen.is === "refused") waiter.end(seen.error);
    });
  }

  /** Rejects the requests that came before the failure. Returns the milliseconds until the next request must be rejected. */
  #refuseStuck(stuck: ActivatorError): Promise<number> {
    return this.#rejectDue(({ sinceMs }, nowMs) => {
      const cameBefore = this.#clearMs !== undefined && sinceMs <= this.#clearMs;
      return cameBefore ? 0 : sinceMs + quotaPatienceMs - nowMs;
    }, stuck);
  }

  /** Rejects, in turns, the first requests that have no time left. Returns the milliseconds until the next must be rejected. */
  async #rejectDue(leftMsOf: (waiter: HeldRequest, nowMs: number) => number, error: ActivatorError): Promise<number> {
    const { clock } = this.#deps;
    const line = this.#line;
    const due = function* (): Iterable<HeldRequest> {
      for (const waiter of line) {
        if (leftMsOf(waiter, clock.ticksMs()) > 0) return;
        yield waiter;
      }
    };
    await forEachYielding(due(), (waiter) => waiter.end(error));
    const next = line.first;
    return next ? Math.max(leftMsOf(next, clock.ticksMs()), patienceStepMs) : never;
  }

  #woke(wake: Wake, { spec }: Stored<SlimSandbox>): void {
    this.#line.first?.connectRequest.observer.woke(wake);
    if (wake.answer) this.#deps.onWoken(wake.answer, this.#to.port ?? defaultPort(spec.podTemplate.spec));
  }

  async #reachTarget(seen: Addressed, changes: Changes): Promise<void> {
    const { target, failure } = seen;
    const reached = failure ? await this.#tryOnce(target, changes) : await this.#probe(seen, changes);
    if (!reached) return;
    if (this.#over.signal.aborted) reached.socket?.destroy();
    else await this.#release(target, reached, changes);
  }

  /** Releases the line while it still resolves to that target. */
  async #release(target: Target, { socket }: Reached, changes: Changes): Promise<void> {
    const release = new PacedRelease(this.#line, target, this.#deps);
    const stop = () => release.stop();
    using _stopping = onAbort(this.#over.signal, stop);
    await this.#whileAt(target, release.run(socket), changes, stop);
  }

  /** Awaits work on that target. Calls `leave` once the sandbox does not resolve to it any more. */
  async #whileAt<T>(target: Target, work: Promise<T>, changes: Changes, leave: () => void): Promise<T> {
    let isOver = false;
    const ended = work.finally(() => {
      isOver = true;
      changes.notify();
    });
    ended.catch(() => {}); // awaited below, perhaps later
    while (!isOver) {
      await changes.next();
      changes.reset();
      if (!isOver && !this.#leadsTo(target)) leave();
    }
    return ended;
  }

  #leadsTo(target: Target): boolean {
    const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
    return seen.is === "addressed" && isSamePlace(seen.target, target);
  }

  /** Only a port that accepts now disproves the failure. Undefined: the sandbox must be resolved again. */
  async #tryOnce(target: Target, changes: Changes): Promise<Reached | undefined> {
    const stop = new AbortController();
    using _stopping = onAbort(this.#over.signal, () => stop.abort(this.#over.signal.reason));
    const leave = () => stop.abort(new DialError(target, { timedOut: false }));
    const dialling = this.#deps.connector.connect(target, undefined, { signal: stop.signal });
    try {
      return await this.#whileAt(target, dialling, changes, leave);
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      if (stop.signal.aborted) return undefined;
      this.#deps.prober.forget(target);
      this.#line.first?.dialFailed(error);
      const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
      if (seen.is === "addressed" && seen.failure) throw seen.failure;
      return undefined;
    }
  }

  /** Rejects the requests whose patience has ended. Returns the milliseconds until the next must be rejected. */
  #rejectImpatient(target: Target): Promise<number> {
    const patience = this.#patience;
    patience.seen(target, this.#deps.clock.ticksMs());
    const error = new ActivatorError("ConnectFailed", { subject: this.#to.name });
    return this.#rejectDue((waiter, nowMs) => patience.leftMs(waiter, nowMs), error);
  }

  #attemptFailed(beganMs: number, changes: Changes): void {
    this.#patience.attemptFailed(beganMs);
    const { first } = this.#line;
    if (first && this.#patience.awaitsAttempt(first, this.#deps.clock.ticksMs())) changes.notify();
  }

  /**
   * Probes until the port accepts, or until the sandbox must be resolved again. A change that leaves the target as it is does not
   * restart the probe: a tenant may change its objects at any rate.
   */
  async #probe(first: Addressed, changes: Changes): Promise<Reached | undefined> {
    const stop = new AbortController();
    let now: Addressed | undefined = first;
    let isOver = false;
    let reached: Reached | undefined;
    const over = () => {
      isOver = true;
      if (!stop.signal.aborted) changes.notify();
    };
    const failed = (beganMs: number) => this.#attemptFailed(beganMs, changes);
    const working = this.#deps.prober.reach(first.target, stop.signal, failed).then((found) => {
      reached = found;
    });
    working.then(over, over);
    try {
      while (now && !isOver) {
        await this.#changeWithin(changes, Math.min(await this.#rejectImpatient(now.target), now.recheckAfterMs));
        if (!isOver) now = this.#stillAt(first.target, changes);
      }
      if (isOver) await working;
      const won = reached;
      reached = undefined;
      return won;
    } finally {
      stop.abort(new Error("checking again"));
      // A connection that came too late is closed.
      working.then(
        () => reached?.socket?.destroy(),
        () => {},
      );
    }
  }

  /** The same target as it is now; undefined: the sandbox must be resolved again. */
  #stillAt(target: Target, changes: Changes): Addressed | undefined {
    changes.reset();
    const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
    if (seen.is !== "addressed" || seen.failure) return undefined;
    if (!isSamePlace(seen.target, target) || seen.target.probes.length !== target.probes.length) return undefined;
    this.#clearMs = this.#deps.clock.ticksMs();
    return seen;
  }

  #changeWithin(changes: Changes, longestMs: number): Promise<void> {
    return changeWithin(changes, longestMs, this.#deps.clock, this.#over.signal);
  }
}
