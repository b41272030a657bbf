import type { SandboxActivity } from "../../api/between-programs/drain-protocol.ts";
import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { ApiUnreachable, isRejected } from "../../kube/client/errors.ts";
import { Subscribers } from "../../lib/data/subscribers.ts";
import { reportUnexpected } from "../../lib/guard/guard.ts";
import { type Running, startTask } from "../../lib/process/lifecycle.ts";
import type { Backoff } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import { readClocks } from "../../lib/time/clock-jumps.ts";
import { pieceFromNow } from "../../lib/time/piece.ts";
import {
  BlockedReports,
  type BlockedSuspension,
  blockedSuspensionOf,
  differsFromStatus,
} from "../suspension/handshake/blocked-suspension.ts";
import { ActivityReader } from "./activity-reader.ts";
import { clockAnomalyBetween, turnAfter } from "./clock-anomaly.ts";
import { idlenessOf, podStartOf } from "./decide-idle.ts";
import { IdleSchedule } from "./idle-schedule.ts";
import type { IdleWatchOptions } from "./idle-watch-options.ts";
import { PodStarts, trustedFromMs } from "./pod-starts.ts";
import { RoundUses, type SeenUse } from "./round-uses.ts";
import { SuspensionWrites } from "./suspension-writes.ts";
import type { ActivityTimes, TimesDecision } from "./times/activity-times.ts";
import { TimesRequests } from "./times/times-requests.ts";
import { type ActivityTimesKeeper, UseTimes } from "./times/use-times.ts";
import { WakeReports } from "./wake-reports.ts";

const readEveryMs = 5_000;
/** The pauses after rounds that fail. Nobody is suspended meanwhile. */
const backoff: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
/** How long a sandbox is skipped after its suspension was cancelled or failed. */
const calmMs = 10_000;
/** How soon a sandbox is checked again whose suspension only an unresponsive activator blocks, or a round that failed. */
const hungAgainMs = 1_000;
const checkRequested = new Error("a check was requested");
/** Maximum number of suspensions that begin after one reading. */
const idleMax = 20;

/** Finds idle sandboxes and has them suspended. Only a leader does that. */
export class IdleWatch implements ActivityTimesKeeper, Running {
  readonly #options: IdleWatchOptions;
  readonly #reader: ActivityReader;
  readonly #times: UseTimes;
  readonly #wakes: WakeReports;
  readonly #podStarts = new PodStarts();
  readonly #uses = new RoundUses((key) => this.#useOf(key));
  readonly #schedule = new IdleSchedule((key) => this.#uses.readNow(key)?.idleness);
  /** Sandboxes whose suspension was cancelled, and until when they are skipped. */
  readonly #calmUntilMs = new Map<string, number>();
  readonly #timesRequests = new TimesRequests();
  readonly #blockedReports: BlockedReports;
  readonly #writes = new SuspensionWrites((key, signal) => this.#suspend(key, signal));
  readonly #listeners = new Subscribers<string>();
  #ring: () => void = () => {};
  #hasRead = false;
  #disturbedMs: number;
  readonly #task: Running;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    this.#disturbedMs = options.clock.ticksMs();
    this.#blockedReports = new BlockedReports(options.clock);
    this.#reader = new ActivityReader({ ...options, onActivity: (activity) => this.#take(activity) });
    this.#times = new UseTimes(options.clock);
    this.#wakes = new WakeReports(options);
    this.#task = startTask("the watch over idle sandboxes", (signal) =>
      this.#run(signal).finally(() => this.#writes.settled()),
    );
  }

  get failed(): Promise<never> {
    return this.#task.failed;
  }

  /** This sandbox has changed. */
  checkAt(key: string): void {
    this.#schedule.checkAt(key, this.#options.clock.ticksMs());
    this.#ring();
  }

  /** Its suspension was cancelled. */
  cancelled(key: string): void {
    const seen = this.#options.read(key);
    if (!seen) return; // it was forgotten already
    const hasOwnPause = this.#options.rejections.of(seen.sandbox) !== undefined;
    if (!hasOwnPause) this.#calmUntilMs.set(key, this.#options.clock.ticksMs() + calmMs);
    this.#podStarts.cancelled(seen.sandbox.metadata.uid);
    this.checkAt(key);
  }

  /** The sandbox is gone. */
  forget({ metadata }: Stored<Sandbox>): void {
    this.#options.view.forget(metadata.uid);
    this.#times.forget(metadata.uid);
    this.#wakes.forget(metadata.uid);
    this.#podStarts.forget(metadata.uid);
    this.#options.rejections.forget(metadata.uid);
    const key = keyFor(metadata.namespace, metadata.name);
    this.#calmUntilMs.delete(key);
    this.#timesRequests.drop(key);
    this.#blockedReports.drop(key);
    this.#writes.drop(key);
    this.#options.fallAsleep.forget(key);
  }

  /** Calls back with each sandbox whose status has new data about its use. */
  onTimes(listener: (key: string) => void): Disposable {
    return this.#listeners.add(listener);
  }

  timesToWrite(sandbox: Stored<Sandbox>): ActivityTimes | undefined {
    const known = this.#useOf(keyOf(sandbox));
    const decision = known && this.#hasRead ? this.#times.decide(sandbox, known) : undefined;
    return decision?.is === "due" ? decision.times : undefined;
  }

  blockedSuspension(sandbox: Stored<Sandbox>): BlockedSuspension {
    const known = this.#useOf(keyOf(sandbox));
    return known && this.#hasRead ? blockedSuspensionOf(known.idleness) : { is: "undecided" };
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#task[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let readAtMs = clock.ticksMs();
    const round = async (): Promise<number> => {
      const nextMs = Math.min(readAtMs, this.#schedule.nextMs ?? readAtMs, this.#timesRequests.nextMs ?? readAtMs);
      await this.#rest(Math.max(nextMs - clock.ticksMs(), 0), signal);
      await this.#options.turns?.rest();
      if (clock.ticksMs() >= readAtMs) {
        await this.#read(signal);
        readAtMs = clock.ticksMs() + readEveryMs;
      }
      await this.#suspendIdle(signal);
      this.#report();
      return 0;
    };
    const onFailure = (error: unknown) => void reportUnexpected("watch", error);
    await repeatUntilDone({ clock, signal, backoff, round, onFailure });
  }

  /** What is not reported in this turn of the event loop is in the next rounds. */
  #report(): void {
    const { clock } = this.#options;
    const notify = (key: string) => this.#listeners.notify(key);
    const decide = (key: string) => this.#timesDecision(key);
    this.#timesRequests.report(clock.ticksMs(), { decide, notify, isOver: pieceFromNow(clock) });
    this.#blockedReports.report((key) => this.#blockedDiffers(key), notify, pieceFromNow(clock));
    this.#uses.clear();
  }

  /** Waits this long, or until a check is requested, and detects an unexpectedly long wait. */
  async #rest(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const before = readClocks(clock);
    const rung = new AbortController();
    this.#ring = () => rung.abort(checkRequested);
    await clock.sleep(waitMs, AbortSignal.any([signal, rung.signal])).catch((error: unknown) => {
      if (error !== checkRequested) throw error;
    });
    const disturbance = clockAnomalyBetween(before, readClocks(clock), waitMs);
    if (!disturbance) return;
    log.warn(
      { disturbance },
      "the clock jumped or the process paused; spreading overdue suspensions over at most two minutes",
    );
    this.#disturbedMs = clock.ticksMs();
    // A keepAwakeUntil is a moment of the wall clock.
    if (disturbance === "jump") this.#schedule.lookAtAll(clock.ticksMs());
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#uses.clear();
    await this.#reader.read(signal);
    this.#hasRead = true;
  }

  #take({ sandbox, wake }: SandboxActivity): void {
    const key = keyFor(sandbox.namespace, sandbox.name);
    this.checkAt(key);
    if (wake) this.#wakes.reported(key, sandbox.uid, wake);
  }

  async #suspendIdle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#uses.clear();
    /** Nobody else sees to these yet. */
    const idle = new Set(this.#schedule.sweep(clock.ticksMs(), idleMax, pieceFromNow(clock)));
    try {
      for (const key of idle) if (!this.#mayTry(key, signal)) idle.delete(key);
      if (idle.size === 0) return;
      // A sandbox used since the last reading is still in use.
      await this.#read(signal);
      if (!this.#reader.isCurrent) return;
      for (const key of idle) {
        this.#writes.add(key, signal);
        idle.delete(key);
      }
    } finally {
      for (const key of idle) this.#schedule.checkAt(key, clock.ticksMs() + hungAgainMs);
    }
  }

  /** If not, its workload is asked first, and the sandbox is checked again after that. */
  #mayTry(key: string, signal: AbortSignal): boolean {
    const { clock, read, fallAsleep } = this.#options;
    const onAsked = (againMs: number) => {
      this.#schedule.checkAt(key, clock.ticksMs() + againMs);
      this.#ring();
    };
    return fallAsleep.mayTry({ key, read: () => read(key), lastUseMs: () => this.#lastUseMs(key) }, onAsked, signal);
  }

  async #suspend(key: string, signal: AbortSignal): Promise<void> {
    const { clock, log, read, fallAsleep, rejections } = this.#options;
    try {
      const seen = read(key);
      if (seen) this.#podStarts.attempted(seen.sandbox.metadata.uid);
      const idlenessNow = () => this.#useOf(key)?.idleness;
      const againMs = await fallAsleep.tryTo(key, () => read(key), idlenessNow, signal);
      if (againMs !== undefined) this.#schedule.checkAt(key, clock.ticksMs() + againMs);
    } catch (err) {
      signal.throwIfAborted();
      // When the API server returns, all overdue sandboxes would be suspended at once.
      if (err instanceof ApiUnreachable) this.#disturbedMs = clock.ticksMs();
      if (isRejected(err)) rejections.add(read(key)?.sandbox, err);
      else log.warn({ err, key }, "could not suspend an idle sandbox; retrying");
      this.#schedule.checkAt(key, clock.ticksMs() + (isRejected(err) ? 0 : calmMs));
    }
    this.#ring();
  }

  #timesDecision(key: string): TimesDecision | undefined {
    const seen = this.#uses.of(key);
    return seen && this.#times.decideRequest(seen.sandbox, seen);
  }

  #blockedDiffers(key: string): boolean {
    const seen = this.#uses.of(key);
    return seen !== undefined && this.#hasRead && differsFromStatus(seen.sandbox, blockedSuspensionOf(seen.idleness));
  }

  #lastUseMs(key: string): number | undefined {
    const idleness = this.#useOf(key)?.idleness;
    return idleness && idleness.is !== "exempt" ? idleness.lastMs : undefined;
  }

  /** Undefined also if it fails: an object that one tenant wrote must not end the watch over the sandboxes of all. */
  #useOf(key: string): SeenUse | undefined {
    try {
      return this.#readUse(key);
    } catch (cause) {
      reportUnexpected("watch", new Error(`could not read the use of sandbox ${key}`, { cause }));
      return undefined;
    }
  }

  #readUse(key: string): SeenUse | undefined {
    const { read, clock, rejections } = this.#options;
    const seen = read(key);
    if (!seen) return undefined;
    const { sandbox, memoryRefusal } = seen;
    const nowMs = clock.ticksMs();
    const at = { now: clock.now(), nowMs };
    const podStart = podStartOf(seen, at, this.#podStarts);
    const timeoutMs = (sandbox.spec.autoSuspension?.inactivityTimeoutSeconds ?? 0) * 1000;
    const fromMs = podStart ? trustedFromMs(podStart, timeoutMs) : this.#disturbedMs;
    const turnMs = turnAfter(Math.max(this.#disturbedMs, fromMs), sandbox.metadata.uid, timeoutMs);
    const use = this.#options.view.useOf(sandbox.metadata.uid, nowMs);
    const notBeforeMs = Math.max(turnMs, this.#calmUntilMs.get(key) ?? turnMs);
    const rejection = rejections.of(sandbox);
    const idleness = idlenessOf({ sandbox, use, podStart, notBeforeMs, rejection, memoryRefusal, ...at });
    this.#timesRequests.add(key);
    if (differsFromStatus(sandbox, blockedSuspensionOf(idleness))) this.#blockedReports.add(key);
    return { sandbox, idleness, use };
  }
}
