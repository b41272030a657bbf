import type { Stored } from "../../api/kinds/meta.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import { onAbort } from "../../lib/guard/on-abort.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { beginUse, type ConnectDeps, type Destination, resolveNow } from "../connect/connect-request.ts";
import { DialError } from "../connect/dial.ts";
import { ActivatorError, toActivatorError } from "../failures/error-codes.ts";
import type { Reached } from "../readiness/prober.ts";
import type { Changes } from "../sandbox/cluster.ts";
import type { Resolution, Target } from "../sandbox/resolve.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { Fifo } from "./fifo.ts";
import type { HeldRequest, HoldProgress } from "./held-request.ts";
import { IgnoredInLine } from "./ignored-in-line.ts";
import { PacedRelease } from "./paced-release.ts";
import { forEachYielding } from "./yielding.ts";

/** Requests whose patience has ended are rejected in steps, because each step restarts the search for an open port. */
const patienceStepMs = 50;

/**
 * How long a new request waits while a quota is full: the controller retries at least every 30 s, and needs a moment to write
 * the result. Milliseconds.
 */
const quotaPatienceMs = 35_000;

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
  #isUsed = false;
  #oldSinceMs: number | undefined;
  /** The last time without a failure, in monotonic milliseconds; undefined: there has been a failure from the start. */
  #clearMs: number | undefined;

  /** `uid`: the UID of the awaited sandbox, if known; a sandbox with another UID does not match. */
  constructor(to: Destination, uid: string | undefined, deps: ConnectDeps, onOver: () => void) {
    this.#to = to;
    this.#uid = uid;
    this.#deps = deps;
    this.#onOver = onOver;
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
  async #step(seen: Exclude<Resolution, { readonly is: "refused" }>, changes: Changes): Promise<void> {
    this.stuck = seen.is === "pending" ? seen.stuck : undefined;
    if (!this.stuck) this.#clearMs = this.#deps.clock.ticksMs();
    switch (seen.is) {
      case "asleep":
        this.waitingFor = "the API server to take the wake";
        await this.#wake(seen.sandbox);
        this.waitingFor = "the wake to be seen";
        return void (await this.#first(changes, undefined));
      case "pending":
        this.waitingFor = seen.on;
        return void (await this.#first(
          changes,
          seen.stuck ? await this.#refuseStuck(seen.stuck) : seen.recheckAfterMs,
        ));
      case "addressed":
        this.waitingFor = `port ${seen.target.port} to accept connections`;
        return this.#reachTarget(seen.target, seen.failure, changes);
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
  #refuseStuck(stuck: ActivatorError): Promise<number | undefined> {
    return this.#rejectDue(({ sinceMs }, nowMs) => {
      const cameBefore = this.#clearMs !== undefined && sinceMs <= this.#clearMs;
      return cameBefore ? 0 : sinceMs + quotaPatienceMs - nowMs;
    }, stuck);
  }

  /** Rejects, in turns, the first requests that have no time left. Returns the milliseconds until the next must be rejected. */
  async #rejectDue(
    leftMsOf: (waiter: HeldRequest, nowMs: number) => number,
    error: ActivatorError,
  ): Promise<number | undefined> {
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
    return next && Math.max(leftMsOf(next, clock.ticksMs()), patienceStepMs);
  }

  async #wake(sandbox: Stored<SlimSandbox>): Promise<void> {
    const { waker, onWoken } = this.#deps;
    const wake = await waker.wake(sandbox, this.#over.signal);
    this.#line.first?.connectRequest.observer.woke(wake);
    if (wake.answer) onWoken(wake.answer, this.#to.port ?? defaultPort(sandbox.spec.podTemplate.spec));
  }

  async #reachTarget(target: Target, failure: ActivatorError | undefined, changes: Changes): Promise<void> {
    const reached = failure ? await this.#tryOnce(target, failure) : await this.#probe(target, changes);
    if (!reached) return;
    if (this.#over.signal.aborted) reached.socket?.destroy();
    else await this.#release(target, reached, changes);
  }

  /** Releases the line while it still resolves to that target. */
  async #release(target: Target, { socket }: Reached, changes: Changes): Promise<void> {
    const release = new PacedRelease(this.#line, target, this.#deps);
    const stop = () => release.stop();
    using _stopping = onAbort(this.#over.signal, stop);
    let isOver = false;
    const released = release.run(socket).finally(() => {
      isOver = true;
      changes.notify();
    });
    while (!isOver) {
      await changes.next();
      changes.reset();
      if (!isOver && !this.#leadsTo(target)) stop();
    }
    await released;
  }

  #leadsTo({ podUid, ip, port }: Target): boolean {
    const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
    if (seen.is !== "addressed") return false;
    const { target } = seen;
    return target.podUid === podUid && target.ip === ip && target.port === port;
  }

  /** Only a port that accepts now disproves the failure. */
  async #tryOnce(target: Target, failure: ActivatorError): Promise<Reached> {
    try {
      return await this.#deps.connector.connect(target, undefined, { signal: this.#over.signal });
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      this.#deps.prober.forget(target);
      this.#line.first?.dialFailed(error);
      throw failure;
    }
  }

  // On a Pod that is no longer young, a closed port is probably the wrong port.
  async #patienceMs({ young }: Target): Promise<number | undefined> {
    if (young) return undefined;
    const { clock, options } = this.#deps;
    this.#oldSinceMs ??= clock.ticksMs();
    const oldSinceMs = this.#oldSinceMs;
    return await this.#rejectDue(
      ({ sinceMs }, nowMs) => Math.max(oldSinceMs, sinceMs) + options.dialRetryMs - nowMs,
      new ActivatorError("ConnectFailed", { subject: this.#to.name }),
    );
  }

  /**
   * Probes until the port accepts, or until the sandbox must be resolved again. A change that leaves the target as it is does not
   * restart the probe: a tenant may change its objects at any rate.
   */
  async #probe(first: Target, changes: Changes): Promise<Reached | undefined> {
    const stop = new AbortController();
    let now: Target | undefined = first;
    let isOver = false;
    let reached: Reached | undefined;
    const over = () => {
      isOver = true;
      if (!stop.signal.aborted) changes.notify();
    };
    const working = this.#deps.prober.reach(first, stop.signal).then((found) => {
      reached = found;
    });
    working.then(over, over);
    try {
      while (now && !isOver) {
        await this.#first(changes, await this.#patienceMs(now));
        if (!isOver) now = this.#stillAt(first, changes);
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
  #stillAt({ podUid, ip, port, probes }: Target, changes: Changes): Target | undefined {
    changes.reset();
    const seen = resolveNow(this.#to, undefined, this.#uid, this.#deps);
    if (seen.is !== "addressed" || seen.failure) return undefined;
    const { target } = seen;
    if (target.podUid !== podUid || target.ip !== ip || target.port !== port) return undefined;
    if (target.probes.length !== probes.length) return undefined;
    this.#clearMs = this.#deps.clock.ticksMs();
    return target;
  }

  /** Waits for a change, or for the recheck time. */
  async #first(changes: Changes, recheckAfterMs: number | undefined): Promise<void> {
    const step = new AbortController();
    const nothing = () => undefined;
    const racers: Promise<void>[] = [changes.next()];
    const { clock } = this.#deps;
    if (recheckAfterMs !== undefined) racers.push(clock.sleep(recheckAfterMs, step.signal).then(nothing, nothing));
    try {
      await abortable(Promise.race(racers), this.#over.signal);
    } finally {
      step.abort(new Error("checking again"));
    }
  }
}
