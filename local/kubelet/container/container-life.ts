import type { Container, ContainerStatus, LifecycleHandler } from "../../../api/kinds/core.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import { aborted } from "../../../lib/process/lifecycle.ts";
import type { NodeServices } from "../node/node-services.ts";
import type { Launch } from "../process/process.ts";
import { StartRefused } from "../start-refusal.ts";
import { type HealthReport, watchHealth } from "./container-health.ts";
import { bindsEveryAddress, ContainerRun, containerIdOf } from "./container-run.ts";
import { afterReboot, notYetRun, secondsTime, startError, type Terminated } from "./container-state.ts";
import { Deadline } from "./deadline.ts";
import { lateMs, untilLeft } from "./preparation.ts";
import type { ProbeKind } from "./probe-schedule.ts";
import { countEnd, restartDelayMs, shouldRestart } from "./restart-policy.ts";

export interface ContainerLifeOptions {
  readonly services: NodeServices;
  readonly podUid: string;
  /** The name of the Pod in messages: `name_namespace(uid)`, as in the kubelet. */
  readonly podTitle: string;
  readonly podIp: string;
  readonly container: Container;
  readonly restartPolicy: string | undefined;
  readonly graceMs: number;
  /** The container's waiting reason before its first run. */
  readonly waitingReason: "ContainerCreating" | "PodInitializing";
  /** The status from before a restart of the runtime; absent for a new Pod. */
  readonly previous: ContainerStatus | undefined;
  /** @throws StartRefused */
  readonly prepare: (signal: AbortSignal) => Promise<Launch>;
  /** Called after each change of `status`. */
  readonly changed: () => void;
  readonly recordEvent: (type: "Normal" | "Warning", reason: string, note: string) => void;
}

interface PreparedLaunch {
  readonly launch: Launch;
  /** Its part of the memory for launches; to dispose once its run has ended. */
  readonly held: Disposable;
}

// As the kubelet, retry every few seconds.
const retryStartMs = 2_000;

/**
 * One container of a Pod over all its runs:
 *
 * waiting ──▶ running ──▶ terminated ──▶ (by restart policy) waiting in a back-off ──▶ running …
 *
 * Its status is at any moment the one that a kubelet would report.
 */
export class ContainerLife {
  readonly container: Container;
  readonly #options: ContainerLifeOptions;
  readonly #stopping = new AbortController();
  readonly #firstStart = Promise.withResolvers<void>();
  #status: ContainerStatus;
  #run: ContainerRun | undefined;
  #ends = 0;

  constructor(options: ContainerLifeOptions) {
    this.#options = options;
    this.container = options.container;
    const { previous, services } = options;
    this.#status = previous
      ? afterReboot(previous, services.clock.now())
      : notYetRun(options.container, options.waitingReason);
  }

  get status(): ContainerStatus {
    return this.#status;
  }

  /** Resolves once the container has passed its startup probe for the first time. */
  get started(): Promise<void> {
    return this.#firstStart.promise;
  }

  /** Resolves when the container will not run again: by its restart policy, or because it was stopped. */
  async live(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const { state } = this.#status;
      const ended = state?.terminated;
      if (ended && !shouldRestart(this.#options.restartPolicy, ended.exitCode)) return;
      if (ended) await this.#backOff(ended);
      const prepared = await this.#prepare();
      if (!prepared) return;
      using _held = prepared.held;
      if (signal.aborted) return;
      const end = await this.#runOnce(prepared.launch);
      this.#ends = countEnd(this.#ends, ranMs(end));
      this.#set({ state: { terminated: end }, ready: false, started: false });
    }
  }

  /** Stops the current run, in the order of a kubelet, and prevents another one. */
  async stop(deadline: Deadline): Promise<void> {
    const first = !this.#stopping.signal.aborted;
    this.#stopping.abort(new Error("the container is being stopped"));
    const run = this.#run;
    if (!run) return;
    if (first) this.#options.recordEvent("Normal", "Killing", `Stopping container ${this.container.name}`);
    await run.terminate(this.container.lifecycle?.preStop, deadline);
  }

  async #backOff(ended: Terminated): Promise<void> {
    // It would do the same again, and answer for other Pods until it is detected.
    if (ended.reason === bindsEveryAddress) this.#ends = Math.max(this.#ends, 2);
    const delayMs = restartDelayMs(this.#ends);
    this.#set({ lastState: { terminated: ended } });
    if (delayMs === 0) return;
    const { name } = this.container;
    const { recordEvent, podTitle, services } = this.#options;
    const why = ended.message ? `: ${ended.message}` : "";
    const message = `back-off ${delayMs / 1000}s restarting failed container=${name} pod=${podTitle}${why}`;
    this.#set({ state: { waiting: { reason: "CrashLoopBackOff", message } } });
    recordEvent("Warning", "BackOff", `Back-off restarting failed container ${name} in pod ${podTitle}`);
    await services.clock.sleep(delayMs, this.#stopping.signal).catch(() => {});
  }

  /** The launch of the next run, once its requirements exist; undefined if the container is stopped before that. */
  async #prepare(): Promise<PreparedLaunch | undefined> {
    const { prepare, services, recordEvent } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const late = () => this.#tellLate();
        const launch = await untilLeft(prepare(signal), { clock: services.clock, signal, late });
        return { launch, held: services.launchMemory.hold(launch) };
      } catch (error) {
        if (signal.aborted) return undefined;
        const reason = error instanceof StartRefused ? error.reason : "CreateContainerError";
        const message = error instanceof Error ? error.message : String(error);
        this.#set({ state: { waiting: { reason, message } } });
        // The kubelet reports FailedMount for an object that it cannot mount, not an error of the container.
        recordEvent("Warning", reason === "ContainerCreating" ? "FailedMount" : "Failed", message);
        await services.clock.sleep(retryStartMs, signal).catch(() => {});
      }
    }
    return undefined;
  }

  /** The start is not tried once more: that would wait for the same file system. */
  #tellLate(): void {
    const message = `the start is not prepared after ${lateMs / 1000} s: a file system or the API server does not answer`;
    this.#set({ state: { waiting: { reason: "CreateContainerError", message } } });
    this.#options.recordEvent("Warning", "Failed", message);
  }

  async #runOnce(launch: Launch): Promise<Terminated> {
    const { services, podUid, podIp, recordEvent } = this.#options;
    const { container } = this;
    const { lastState, restartCount: ranBefore } = this.#status;
    const restartCount = lastState?.terminated ? ranBefore + 1 : ranBefore;
    try {
      this.#run = await ContainerRun.start(services, { podUid, podIp, container, launch, restartCount });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const containerID = containerIdOf(podUid, container.name, restartCount);
      this.#set({ restartCount, containerID });
      recordEvent("Warning", "Failed", `Error: ${message}`);
      return startError(message, services.clock.now(), containerID);
    }
    const run = this.#run;
    // It was stopped while the process was starting, so `stop` did not kill the process.
    if (this.#stopping.signal.aborted) run.kill();
    this.#set({
      restartCount,
      containerID: run.containerId,
      state: { running: { startedAt: secondsTime(run.startedAt) } },
      started: container.startupProbe === undefined,
      ready: container.startupProbe === undefined && container.readinessProbe === undefined,
    });
    recordEvent("Normal", "Started", `Started container ${container.name}`);
    return this.#attend(run);
  }

  /** Attends one run until it has ended. Start hook and probes run concurrently. */
  async #attend(run: ContainerRun): Promise<Terminated> {
    const postStart = this.container.lifecycle?.postStart;
    if (postStart) void this.#runPostStart(run, postStart);
    const health = watchHealth(
      {
        clock: this.#options.services.clock,
        target: run.target,
        report: this.#healthReport(run),
        checkAddresses: this.#checkAddresses,
      },
      AbortSignal.any([run.over, this.#stopping.signal]),
    );
    const end = await run.ended;
    await health;
    this.#run = undefined;
    if (end.reason === bindsEveryAddress) this.#options.recordEvent("Warning", bindsEveryAddress, end.message ?? "");
    return end;
  }

  readonly #checkAddresses = (): Promise<void> => this.#options.services.watch.check();

  async #runPostStart(run: ContainerRun, hook: LifecycleHandler): Promise<void> {
    const complaint = await run.runHook(hook, run.over);
    if (complaint === undefined || run.over.aborted) return;
    this.#options.recordEvent("Warning", "FailedPostStartHook", `PostStartHook failed: ${complaint}`);
    run.kill({ reason: "Error", message: `PostStartHook failed: ${complaint}` });
  }

  #healthReport(run: ContainerRun): HealthReport {
    const { recordEvent } = this.#options;
    let restarting = false;
    return {
      started: () => {
        this.#set({ started: true });
        this.#firstStart.resolve();
      },
      ready: (ready) => this.#set({ ready }),
      failed: (kind, message) => recordEvent("Warning", "Unhealthy", `${kind} probe failed: ${message}`),
      hopeless: (kind, probe) => {
        if (restarting) return;
        restarting = true;
        const seconds = probe.terminationGracePeriodSeconds;
        const graceMs = seconds === undefined ? this.#options.graceMs : seconds * 1000;
        runGuarded(
          "kubelet",
          () => this.#restart(run, kind, graceMs),
          () => run.kill(),
        );
      },
    };
  }

  async #restart(run: ContainerRun, kind: ProbeKind, graceMs: number): Promise<void> {
    const { services, recordEvent } = this.#options;
    const note = `Container ${this.container.name} failed ${kind.toLowerCase()} probe, will be restarted`;
    recordEvent("Normal", "Killing", note);
    using deadline = new Deadline(services.clock, graceMs);
    // A deletion meanwhile may shorten the grace period.
    const stopped = aborted(this.#stopping.signal);
    await Promise.race([run.terminate(this.container.lifecycle?.preStop, deadline), stopped]);
  }

  /** Notifies only of changes. */
  #set(change: Partial<ContainerStatus>): void {
    const changes = (Object.keys(change) as (keyof ContainerStatus)[]).some((key) => change[key] !== this.#status[key]);
    if (!changes) return;
    this.#status = { ...this.#status, ...change };
    this.#options.changed();
  }
}

function ranMs({ startedAt, finishedAt }: Terminated): number {
  const [start, end] = [readTime(startedAt), readTime(finishedAt)];
  return start && end ? end.getTime() - start.getTime() : 0;
}
