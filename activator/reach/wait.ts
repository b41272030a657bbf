import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { abortable } from "../../lib/lifecycle.ts";
import { isIgnored } from "../activity/ignored-requests.ts";
import { ActivatorError, toActivatorError } from "../errors.ts";
import { firstPortOf } from "../find/find.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { Look, Target } from "../sandbox/look.ts";
import { DialError } from "./dial.ts";
import { beginUse, type Destination, lookNow, type Surroundings } from "./errand.ts";
import { inTurns } from "./in-turns.ts";
import { Line } from "./line.ts";
import type { Reached } from "./prober.ts";
import { Release } from "./release.ts";
import type { Waiter, WaitingRoom } from "./waiter.ts";

/** Those whose patience ends are told in steps: each look begins the search for an open port anew. */
const patienceStepMs = 50;

type Changes = ReturnType<Cluster["listen"]>;

/**
 * What is done for all who wait for one port of one sandbox, once however many they are: it does what the last look
 * asks for, until the port accepts or there is a reason why it never will.
 */
export class Wait implements WaitingRoom {
  waitingFor = "its state to be known";
  readonly #to: Destination;
  readonly #uid: string | undefined;
  readonly #around: Surroundings;
  readonly #onOver: () => void;
  readonly #line = new Line<Waiter>();
  readonly #over = new AbortController();
  #isUsed = false;
  #oldSinceMs: number | undefined;

  /** `uid`: the sandbox that is waited for, where it is known; one that takes its name is another. */
  constructor(to: Destination, uid: string | undefined, around: Surroundings, onOver: () => void) {
    this.#to = to;
    this.#uid = uid;
    this.#around = around;
    this.#onOver = onOver;
  }

  join(waiter: Waiter): void {
    this.#line.join(waiter);
    if (this.#line.size === 1) void this.#run();
  }

  left(waiter: Waiter): void {
    this.#line.leave(waiter);
    if (this.#line.size === 0) this.#end(new Error("nobody waits any more"));
  }

  async #run(): Promise<void> {
    const { cluster } = this.#around;
    using bell = cluster.listen(this.#to.namespace, this.#to.name);
    try {
      while (!this.#over.signal.aborted) {
        bell.reset();
        await this.#step(lookNow(this.#to, undefined, this.#uid, this.#around), bell);
      }
    } catch (error) {
      // Who comes from now on looks for themselves.
      this.#end(new Error("it has failed"));
      await inTurns(this.#line, (waiter) => waiter.end(toActivatorError(error)));
    }
  }

  #end(reason: Error): void {
    if (this.#over.signal.aborted) return;
    this.#onOver();
    this.#over.abort(reason);
  }

  /** Resolves when it is time to look again. */
  async #step(seen: Look, bell: Changes): Promise<void> {
    if (seen.is === "refused") throw seen.error;
    this.#isUsed ||= this.#beginUse();
    this.#refuseIgnored();
    switch (seen.is) {
      case "asleep":
        this.waitingFor = "the API server to take the wake";
        await this.#wake(seen.sandbox);
        this.waitingFor = "the wake to be seen";
        return void (await this.#first(bell, undefined));
      case "pending":
        this.waitingFor = seen.on;
        return void (await this.#first(bell, seen.recheckAfterMs));
      case "addressed":
        this.waitingFor = `port ${seen.target.port} to accept connections`;
        return this.#reachTarget(seen.target, seen.trouble, bell);
    }
  }

  #beginUse(): boolean {
    let known = false;
    for (const { errand } of this.#line) known = beginUse(errand);
    return known;
  }

  /** Who joined before its owner wrote the rule, or before it fell asleep, wakes nothing either. */
  #refuseIgnored(): void {
    const { autoSuspension, operatingMode } =
      this.#around.cluster.sandbox(this.#to.namespace, this.#to.name)?.spec ?? {};
    if (operatingMode !== "Suspended" || !autoSuspension?.ignoreRequests) return;
    for (const waiter of this.#line) {
      if (!isIgnored(waiter.head, autoSuspension)) continue;
      const seen = lookNow(this.#to, waiter.head, this.#uid, this.#around);
      if (seen.is === "refused") waiter.end(seen.error);
    }
  }

  async #wake(sandbox: Stored<Sandbox>): Promise<void> {
    const { waker, onWoken } = this.#around;
    const wake = await waker.wake(sandbox, this.#over.signal);
    this.#line.first?.errand.journey.woke(wake);
    if (wake.mine && wake.answer) onWoken(wake.answer, this.#to.port ?? firstPortOf(sandbox));
  }

  async #reachTarget(target: Target, trouble: ActivatorError | undefined, bell: Changes): Promise<void> {
    const reached = trouble
      ? await this.#tryOnce(target, trouble)
      : await this.#first(bell, this.#patienceMs(target), (step) => this.#around.prober.reach(target, step));
    if (!reached) return;
    if (this.#over.signal.aborted) reached.socket?.destroy();
    else await this.#release(target, reached, bell);
  }

  /** Lets them go, for as long as that target is theirs. */
  async #release(target: Target, { socket }: Reached, bell: Changes): Promise<void> {
    const release = new Release(this.#line, target, this.#around);
    const stop = () => release.stop();
    this.#over.signal.addEventListener("abort", stop, { once: true });
    const released = release.run(socket).then(() => true);
    while (!(await Promise.race([released, bell.next().then(() => false)]))) {
      bell.reset();
      if (!this.#leadsTo(target)) stop();
    }
    this.#over.signal.removeEventListener("abort", stop);
  }

  #leadsTo({ podUid, ip, port }: Target): boolean {
    const seen = lookNow(this.#to, undefined, this.#uid, this.#around);
    if (seen.is !== "addressed") return false;
    const { target } = seen;
    return target.podUid === podUid && target.ip === ip && target.port === port;
  }

  /** Only a port that accepts now disproves that something is wrong. */
  async #tryOnce(target: Target, trouble: ActivatorError): Promise<Reached> {
    try {
      return await this.#around.connector.connect(target, undefined, this.#over.signal);
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      this.#around.prober.forget(target);
      this.#line.first?.dialFailed(error);
      throw trouble;
    }
  }

  // A port that is closed on a Pod that had all the time to open it is more likely the wrong one.
  #patienceMs({ young }: Target): number | undefined {
    if (young) return undefined;
    const { clock, options } = this.#around;
    const nowMs = clock.ticksMs();
    this.#oldSinceMs ??= nowMs;
    for (const waiter of this.#line) {
      const leftMs = Math.max(this.#oldSinceMs, waiter.sinceMs) + options.dialRetryMs - nowMs;
      if (leftMs > 0) return Math.max(leftMs, patienceStepMs);
      waiter.end(new ActivatorError("ConnectFailed", { subject: this.#to.name }));
    }
    return undefined;
  }

  /** Whatever is first: a change, the time to look again, or the work's result. */
  async #first(
    bell: Changes,
    recheckAfterMs: number | undefined,
    work?: (step: AbortSignal) => Promise<Reached>,
  ): Promise<Reached | undefined> {
    const step = new AbortController();
    const nothing = () => undefined;
    const working = work?.(step.signal);
    const racers: Promise<Reached | undefined>[] = [bell.next().then(nothing)];
    if (working) racers.push(working);
    const { clock } = this.#around;
    if (recheckAfterMs !== undefined) racers.push(clock.sleep(recheckAfterMs, step.signal).then(nothing, nothing));
    let won: Reached | undefined;
    try {
      won = await abortable(Promise.race(racers), this.#over.signal);
      return won;
    } finally {
      step.abort(new Error("looking again"));
      // A connection that came too late is nobody's.
      working?.then((late) => late !== won && late.socket?.destroy(), nothing);
    }
  }
}
