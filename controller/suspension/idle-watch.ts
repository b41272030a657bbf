import type { SandboxActivity } from "../../api/drain-protocol.ts";
import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { ApiUnreachable } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Running, startTask } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { Subscribers } from "../../lib/subscribers.ts";
import { findPod } from "../sandbox/find-pod.ts";
import type { Observed } from "../sandbox/observed.ts";
import type { ActivatorFinder } from "./activators.ts";
import { ActivityReader } from "./activity-reader.ts";
import type { ActivityTimes } from "./activity-times.ts";
import type { ActivityView } from "./activity-view.ts";
import type { ActivatorRounds } from "./ask-activators.ts";
import { disturbanceBetween, turnAfter } from "./disturbance.ts";
import type { FallAsleep } from "./fall-asleep.ts";
import { IdleSchedule } from "./idle-schedule.ts";
import { idlenessOf } from "./idleness.ts";
import { PodStarts } from "./pod-starts.ts";
import type { SuspensionMetrics } from "./suspension-metrics.ts";
import { type ActivityTimesKeeper, type KnownUse, UseTimes } from "./use-times.ts";
import { WakeNews } from "./wake-news.ts";

export interface IdleWatchOptions {
  /** What the stores show of a sandbox; undefined once it is gone. */
  readonly look: (key: string) => Pick<Observed, "sandbox" | "pods"> | undefined;
  readonly finder: ActivatorFinder;
  readonly view: ActivityView;
  readonly rounds: Pick<ActivatorRounds, "activity" | "keep">;
  readonly fallAsleep: FallAsleep;
  readonly events: EventRecorder | undefined;
  readonly metrics: SuspensionMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

const readEveryMs = 5_000;
/** Whoever's suspension was called off, or failed, is left alone for so long. */
const calmMs = 10_000;
/** How soon those are looked at again who would sleep if an activator answered. */
const hungAgainMs = 1_000;
/** So many are suspended at a time. */
const idleMax = 20;

/** Finds out who is idle, and has them suspended. Only a leader does that. */
export class IdleWatch implements ActivityTimesKeeper, Running {
  readonly #options: IdleWatchOptions;
  readonly #reader: ActivityReader;
  readonly #times: UseTimes;
  readonly #wakes: WakeNews;
  readonly #podStarts = new PodStarts();
  readonly #schedule = new IdleSchedule((key) => this.#useOf(key)?.idleness);
  /** Those whose suspension was called off, and until when they are left alone. */
  readonly #calmUntilMs = new Map<string, number>();
  /** Those whose times may have to be written anew. */
  readonly #stirred = new Set<string>();
  readonly #listeners = new Subscribers<string>();
  #ring: () => void = () => {};
  #hasRead = false;
  #disturbedMs: number;
  readonly #task: Running;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    this.#disturbedMs = options.clock.ticksMs();
    this.#reader = new ActivityReader({ ...options, onNews: (news) => this.#take(news) });
    this.#times = new UseTimes(options.clock);
    this.#wakes = new WakeNews(options);
    this.#task = startTask("the watch over idle sandboxes", (signal) => this.#run(signal));
  }

  get failed(): Promise<never> {
    return this.#task.failed;
  }

  /** Something about this sandbox has changed. */
  lookAt(key: string): void {
    this.#schedule.lookAt(key, this.#options.clock.ticksMs());
    this.#ring();
  }

  /** Its suspension was called off. */
  calledOff(key: string): void {
    this.#calmUntilMs.set(key, this.#options.clock.ticksMs() + calmMs);
  }

  /** The sandbox is no more. */
  forget({ metadata }: Stored<Sandbox>): void {
    this.#options.view.forget(metadata.uid);
    this.#times.forget(metadata.uid);
    this.#wakes.forget(metadata.uid);
    this.#podStarts.forget(metadata.uid);
    const key = keyFor(metadata.namespace, metadata.name);
    this.#calmUntilMs.delete(key);
    this.#stirred.delete(key);
    this.#options.fallAsleep.forget(key);
  }

  /** Calls back with each sandbox whose status has something new to tell of its use. */
  onTimes(listener: (key: string) => void): Disposable {
    return this.#listeners.add(listener);
  }

  timesToWrite(sandbox: Stored<Sandbox>): ActivityTimes | undefined {
    const known = this.#useOf(keyOf(sandbox));
    const due = known && this.#hasRead ? this.#times.due(sandbox, known) : undefined;
    if (due) this.#times.written(sandbox.metadata.uid);
    return due;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#task[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let readAtMs = clock.ticksMs(); !signal.aborted; ) {
      const nowMs = clock.ticksMs();
      const waitMs = Math.max(Math.min(readAtMs, this.#schedule.nextMs ?? readAtMs) - nowMs, 0);
      await this.#rest(waitMs, signal);
      if (signal.aborted) return;
      if (clock.ticksMs() >= readAtMs) {
        await this.#read(signal);
        readAtMs = clock.ticksMs() + readEveryMs;
      }
      await this.#suspendIdle(signal);
      this.#tellTimes();
    }
  }

  /** Waits for so long, or until something is to be looked at, and notices when that took strangely long. */
  async #rest(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const reading = () => ({ wallMs: clock.now().getTime(), ticksMs: clock.ticksMs() });
    const before = reading();
    await new Promise<void>((resolve) => {
      const timer = clock.after(waitMs, () => wake());
      const wake = () => {
        signal.removeEventListener("abort", wake);
        timer.cancel();
        resolve();
      };
      this.#ring = wake;
      if (signal.aborted) wake();
      signal.addEventListener("abort", wake, { once: true });
    });
    const disturbance = disturbanceBetween(before, reading(), waitMs);
    if (!disturbance) return;
    log.warn({ disturbance }, "time did not pass as usual: sandboxes go to sleep one after the other");
    this.#disturbedMs = clock.ticksMs();
  }

  async #read(signal: AbortSignal): Promise<void> {
    await this.#reader.read(signal);
    this.#hasRead = true;
  }

  #take(news: readonly SandboxActivity[]): void {
    for (const { sandbox, wake } of news) {
      const key = keyFor(sandbox.namespace, sandbox.name);
      this.lookAt(key);
      if (wake) this.#wakes.heard(key, sandbox.uid, wake);
    }
  }

  async #suspendIdle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const idle = this.#schedule.sweep(clock.ticksMs(), idleMax);
    if (idle.length === 0) return;
    // What was used since the last reading is still in use.
    await this.#read(signal);
    if (this.#reader.isCurrent) await Promise.all(idle.map((key) => this.#suspend(key, signal)));
    else for (const key of idle) this.#schedule.lookAt(key, clock.ticksMs() + hungAgainMs);
  }

  async #suspend(key: string, signal: AbortSignal): Promise<void> {
    const { clock, log, look, fallAsleep } = this.#options;
    try {
      const againMs = await fallAsleep.tryTo(
        key,
        () => look(key),
        () => this.#useOf(key)?.idleness,
        signal,
      );
      if (againMs !== undefined) this.#schedule.lookAt(key, clock.ticksMs() + againMs);
    } catch (err) {
      signal.throwIfAborted();
      // When the API server comes back, everybody who is overdue would go at once.
      if (err instanceof ApiUnreachable) this.#disturbedMs = clock.ticksMs();
      log.warn({ err, key }, "an idle sandbox could not be suspended; trying again");
      this.#schedule.lookAt(key, clock.ticksMs() + calmMs);
    }
  }

  #tellTimes(): void {
    for (const key of this.#stirred) {
      const sandbox = this.#options.look(key)?.sandbox;
      const known = this.#useOf(key);
      this.#stirred.delete(key);
      if (!sandbox || !known || !this.#hasRead || !this.#times.due(sandbox, known)) continue;
      this.#listeners.tell(key);
    }
  }

  #useOf(key: string): KnownUse | undefined {
    const { look, clock } = this.#options;
    const seen = look(key);
    if (!seen) return undefined;
    const { sandbox } = seen;
    const nowMs = clock.ticksMs();
    const at = { now: clock.now(), nowMs };
    const found = findPod(seen);
    const timeoutMs = (sandbox.spec.autoSuspension?.inactivityTimeoutSeconds ?? 0) * 1000;
    const turnMs = turnAfter(this.#disturbedMs, sandbox.metadata.uid, timeoutMs);
    const use = this.#options.view.useOf(sandbox.metadata.uid, nowMs);
    const idleness = idlenessOf({
      sandbox,
      use,
      podStart: found.found === "owned" ? this.#podStarts.startOf(sandbox.metadata.uid, found.pod, at) : undefined,
      notBeforeMs: Math.max(turnMs, this.#calmUntilMs.get(key) ?? turnMs),
      ...at,
    });
    if (idleness.is === "awake") this.#stirred.add(key);
    return { idleness, use };
  }
}
