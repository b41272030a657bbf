import type { Container, LifecycleHandler } from "../../api/core.ts";
import { aborted } from "../../lib/lifecycle.ts";
import { type ActionTarget, perform } from "./container-actions.ts";
import { ContainerLog, removeLog } from "./container-log.ts";
import { type Terminated, toTerminated } from "./container-state.ts";
import type { Deadline } from "./deadline.ts";
import type { NodeServices } from "./node-services.ts";
import { killProcess, type Launch, type ProcessGroup, SpawnFailed, startProcess } from "./process.ts";

export interface RunOptions {
  readonly podUid: string;
  readonly podIp: string;
  readonly container: Container;
  readonly launch: Launch;
  /** How often the container was started before. */
  readonly restartCount: number;
}

interface EndCause {
  readonly reason: string;
  readonly message: string;
}

/** A container that ended this way would do so each time, and harm others meanwhile. */
export const bindsEveryAddress = "BindsEveryAddress";

/** One run of a container: one process group, its log, its record on disk. */
export class ContainerRun {
  readonly containerId: string;
  readonly startedAt: Date;
  /** Resolves when nothing of the run is left and its log is complete. */
  readonly ended: Promise<Terminated>;
  readonly target: ActionTarget;
  readonly #services: NodeServices;
  readonly #process: ProcessGroup;
  readonly #over = new AbortController();
  #because: EndCause | undefined;

  private constructor(services: NodeServices, options: RunOptions, process: ProcessGroup) {
    const { podUid, podIp, container, launch, restartCount } = options;
    this.#services = services;
    this.#process = process;
    this.containerId = containerIdOf(podUid, container.name, restartCount);
    this.startedAt = services.clock.now();
    this.target = { container, podIp, launchOf: (command) => withCommand(launch, command) };
    this.ended = this.#follow(options);
  }

  /** @throws SpawnFailed */
  static async start(services: NodeServices, options: RunOptions): Promise<ContainerRun> {
    const process = await startProcess(options.launch);
    try {
      services.records.add(recordKey(options), process.pid, options.launch.program);
    } catch (cause) {
      // What cannot be remembered could not be found again after a crash.
      process.signal("SIGKILL");
      throw new SpawnFailed(`cannot record ${options.launch.program}`, { cause });
    }
    return new ContainerRun(services, options, process);
  }

  /** Aborted as soon as the run has ended or is killed: from then on nothing it answers means anything. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends everything at once and says why. The first cause is the one that is told. */
  kill(because?: EndCause): void {
    this.#because ??= because;
    this.#over.abort(new Error("the container was killed"));
    this.#process.signal("SIGKILL");
  }

  /** `preStop`, SIGTERM, and at the deadline SIGKILL: the order of a kubelet. Resolves when the program has ended. */
  async terminate(preStop: LifecycleHandler | undefined, deadline: Deadline): Promise<void> {
    const { exited } = this.#process;
    if (preStop) await Promise.race([this.runHook(preStop, deadline.signal), exited]);
    this.#process.signal("SIGTERM");
    await Promise.race([exited, aborted(deadline.signal)]);
    this.#process.signal("SIGKILL");
    await this.ended;
  }

  /** Runs a lifecycle hook to its end or until aborted, and says what went wrong with it. */
  async runHook(hook: LifecycleHandler, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#services;
    if (hook.sleep) {
      await clock.sleep(hook.sleep.seconds * 1000, signal).catch(() => {});
      return undefined;
    }
    const { passed, message } = await perform(hook, this.target, { clock, timeoutMs: hookLimitMs, signal });
    return passed ? undefined : message;
  }

  async #follow(options: RunOptions): Promise<Terminated> {
    const { clock, records, watch, liveLogs, directories } = this.#services;
    const { podUid, podIp, container, restartCount } = options;
    const path = directories.containerLog(podUid, container.name, restartCount);
    const log = new ContainerLog(path, clock);
    liveLogs.set(path, log);
    // The log of the run before this one can be asked for, and none before that.
    void removeLog(directories.containerLog(podUid, container.name, restartCount - 2));
    log.attach(this.#process.stdout, "stdout");
    log.attach(this.#process.stderr, "stderr");
    using _ = watch.watch(this.#process.pid, ({ port, pids }) => {
      this.kill(everyAddressCause(port, podIp));
      for (const pid of pids) killProcess(pid); // one that has left the group, too
    });

    const exit = await this.#process.exited;
    this.#over.abort(new Error("the container has ended"));
    const finishedAt = clock.now();
    records.remove(recordKey(options));
    await log.close();
    liveLogs.delete(path);
    const { startedAt, containerId } = this;
    return toTerminated({ exit, startedAt, finishedAt, containerId, because: this.#because });
  }
}

// The API sets no limit; a hook that never ends must not hold a container for ever.
const hookLimitMs = 3_600_000;

export function containerIdOf(podUid: string, container: string, restartCount: number): string {
  return `process://${podUid}/${container}/${restartCount}`;
}

function recordKey({ podUid, container }: RunOptions): string {
  return `${podUid}/${container.name}`;
}

function withCommand(launch: Launch, command: readonly string[]): Launch {
  const [program = ""] = command;
  return { ...launch, program, argv: command };
}

function everyAddressCause(port: number, podIp: string): EndCause {
  return {
    reason: bindsEveryAddress,
    message: `the program listens on every address at port ${port} and so would answer for all Pods; bind it to $(POD_IP) instead, which is ${podIp} here`,
  };
}
