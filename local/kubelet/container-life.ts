import type { Container, ContainerStatus, LifecycleHandler } from "../../api/core.ts";
import { aborted } from "../../lib/lifecycle.ts";
import { type HealthReport, watchHealth } from "./container-health.ts";
import { bindsEveryAddress, ContainerRun, containerIdOf } from "./container-run.ts";
import { afterReboot, notYetRun, secondsTime, startError, type Terminated } from "./container-state.ts";
import { Deadline } from "./deadline.ts";
import type { NodeServices } from "./node-services.ts";
import type { ProbeKind } from "./probe-schedule.ts";
import type { Launch } from "./process.ts";
import { countEnd, restartDelayMs, shouldRestart } from "./restart-policy.ts";
import { StartRefused } from "./start-refusal.ts";

export interface ContainerLifeOptions {
  readonly services: NodeServices;
  readonly podUid: string;
  /** How the Pod is called in messages: `name_namespace(uid)`, as a kubelet does. */
  readonly podTitle: string;
  readonly podIp: string;
  readonly container: Container;
  readonly restartPolicy: string | undefined;
  readonly graceMs: number;
  /** What the container looks like before its first run. */
  readonly waitingReason: "ContainerCreating" | "PodInitializing";
  /** From before the runtime was started; absent for a new Pod. */
  readonly previous: ContainerStatus | undefined;
  /** @throws StartRefused */
  readonly prepare: (signal: AbortSignal) => Promise<Launch>;
  /** Called after each change of `status`. */
  readonly changed: () => void;
  readonly tell: (type: "Normal" | "Warning", reason: string, note: string) => void;
}

// A kubelet, too, tries again every few seconds what a container lacks.
const retryStartMs = 2_000;

/**
 * One container of a Pod over all its runs:
 *
 *   waiting ──▶ running ──▶ terminated ──▶ (the policy says so) waiting in a back-off ──▶ running …
 *
 * Its status is at any moment what a kubelet would report.
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

  /** Resolves when the container will never run again: its policy says so, or it was stopped. */
  async live(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const { state } = this.#status;
      const ended = state?.terminated;
      if (ended && !shouldRestart(this.#options.restartPolicy, ended.exitCode)) return;
      if (ended) await this.#backOff(ended);
      const launch = await this.#prepare();
      if (!launch || signal.aborted) return;
      const end = await this.#runOnce(launch);
      this.#ends = countEnd(this.#ends, ranMs(end));
      this.#set({ state: { terminated: end }, ready: false, started: false });
    }
  }

  /** Ends what runs, in the order of a kubelet, and lets nothing run any more. */
  async stop(deadline: Deadline): Promise<void> {
    const first = !this.#stopping.signal.aborted;
    this.#stopping.abort(new Error("the container is being stopped"));
    const run = this.#run;
    if (!run) return;
    if (first) this.#options.tell("Normal", "Killing", `Stopping container ${this.container.name}`);
    await run.terminate(this.container.lifecycle?.preStop, deadline);
  }

  async #backOff(ended: Terminated): Promise<void> {
    // It would do the same again, and until it is found out it answers for others.
    if (ended.reason === bindsEveryAddress) this.#ends = Math.max(this.#ends, 2);
    const delayMs = restartDelayMs(this.#ends);
    this.#set({ lastState: { terminated: ended } });
    if (delayMs === 0) return;
    const { name } = this.container;
    const { tell, podTitle, services } = this.#options;
    const why = ended.message ? `: ${ended.message}` : "";
    const message = `back-off ${delayMs / 1000}s restarting failed container=${name} pod=${podTitle}${why}`;
    this.#set({ state: { waiting: { reason: "CrashLoopBackOff", message } } });
    tell("Warning", "BackOff", `Back-off restarting failed container ${name} in pod ${podTitle}`);
    await services.clock.sleep(delayMs, this.#stopping.signal).catch(() => {});
  }

  /** What to start, as soon as there is nothing in its way; undefined when the container is stopped before that. */
  async #prepare(): Promise<Launch | undefined> {
    const { prepare, services, tell } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        return await prepare(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        const reason = error instanceof StartRefused ? error.reason : "CreateContainerError";
        const message = error instanceof Error ? error.message : String(error);
        this.#set({ state: { waiting: { reason, message } } });
        // What a kubelet waits for without calling it an error is what it cannot mount.
        tell("Warning", reason === "ContainerCreating" ? "FailedMount" : "Failed", message);
        await services.clock.sleep(retryStartMs, signal).catch(() => {});
      }
    }
    return undefined;
  }

  async #runOnce(launch: Launch): Promise<Terminated> {
    const { services, podUid, podIp, tell } = this.#options;
    const { container } = this;
    const { lastState, restartCount: ranBefore } = this.#status;
    const restartCount = lastState?.terminated ? ranBefore + 1 : ranBefore;
    try {
      this.#run = await ContainerRun.start(services, { podUid, podIp, container, launch, restartCount });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const containerID = containerIdOf(podUid, container.name, restartCount);
      this.#set({ restartCount, containerID });
      tell("Warning", "Failed", `Error: ${message}`);
      return startError(message, services.clock.now(), containerID);
    }
    const run = this.#run;
    // It was stopped while the process came into being, and so nobody else will end it.
    if (this.#stopping.signal.aborted) run.kill();
    this.#set({
      restartCount,
      containerID: run.containerId,
      state: { running: { startedAt: secondsTime(run.startedAt) } },
      started: container.startupProbe === undefined,
      ready: container.startupProbe === undefined && container.readinessProbe === undefined,
    });
    tell("Normal", "Started", `Started container ${container.name}`);
    return this.#attend(run);
  }

  /** Stays with one run until it has ended: start hook and probes go on beside it. */
  async #attend(run: ContainerRun): Promise<Terminated> {
    const postStart = this.container.lifecycle?.postStart;
    if (postStart) void this.#runPostStart(run, postStart);
    const health = watchHealth(
      { clock: this.#options.services.clock, target: run.target, report: this.#healthReport(run), look: this.#look },
      AbortSignal.any([run.over, this.#stopping.signal]),
    );
    const end = await run.ended;
    await health;
    this.#run = undefined;
    if (end.reason === bindsEveryAddress) this.#options.tell("Warning", bindsEveryAddress, end.message ?? "");
    return end;
  }

  readonly #look = (): Promise<void> => this.#options.services.watch.look();

  async #runPostStart(run: ContainerRun, hook: LifecycleHandler): Promise<void> {
    const complaint = await run.runHook(hook, run.over);
    if (complaint === undefined || run.over.aborted) return;
    this.#options.tell("Warning", "FailedPostStartHook", `PostStartHook failed: ${complaint}`);
    run.kill({ reason: "Error", message: `PostStartHook failed: ${complaint}` });
  }

  #healthReport(run: ContainerRun): HealthReport {
    const { tell } = this.#options;
    let restarting = false;
    return {
      started: () => {
        this.#set({ started: true });
        this.#firstStart.resolve();
      },
      ready: (ready) => this.#set({ ready }),
      failed: (kind, message) => tell("Warning", "Unhealthy", `${kind} probe failed: ${message}`),
      hopeless: (kind, probe) => {
        if (restarting) return;
        restarting = true;
        const seconds = probe.terminationGracePeriodSeconds;
        void this.#restart(run, kind, seconds === undefined ? this.#options.graceMs : seconds * 1000);
      },
    };
  }

  async #restart(run: ContainerRun, kind: ProbeKind, graceMs: number): Promise<void> {
    const { services, tell } = this.#options;
    const note = `Container ${this.container.name} failed ${kind.toLowerCase()} probe, will be restarted`;
    tell("Normal", "Killing", note);
    using deadline = new Deadline(services.clock, graceMs);
    // A Pod that is deleted meanwhile may be in more of a hurry.
    const stopped = aborted(this.#stopping.signal);
    await Promise.race([run.terminate(this.container.lifecycle?.preStop, deadline), stopped]);
  }

  /** Tells only what changes: a container at rest makes no noise. */
  #set(change: Partial<ContainerStatus>): void {
    const changes = (Object.keys(change) as (keyof ContainerStatus)[]).some((key) => change[key] !== this.#status[key]);
    if (!changes) return;
    this.#status = { ...this.#status, ...change };
    this.#options.changed();
  }
}

function ranMs({ startedAt = "", finishedAt = "" }: Terminated): number {
  return Date.parse(finishedAt) - Date.parse(startedAt);
}
