import type { Container, LifecycleHandler } from "../../../api/kinds/core.ts";
import { aborted } from "../../../lib/process/lifecycle.ts";
import type { NodeServices } from "../node/node-services.ts";
import { Containment } from "../process/containment.ts";
import { killProcess, type Launch, type ProcessGroup, SpawnFailed, startProcess } from "../process/process.ts";
import { type ActionTarget, perform } from "./container-actions.ts";
import { ContainerLog, removeLog } from "./container-log.ts";
import { type Terminated, toTerminated } from "./container-state.ts";
import type { Deadline } from "./deadline.ts";

export interface RunOptions {
  readonly podUid: string;
  readonly podIp: string;
  readonly container: Container;
  readonly launch: Launch;
  /** The number of earlier starts. */
  readonly restartCount: number;
}

interface EndCause {
  readonly reason: string;
  readonly message: string;
}

/** A container that ended for this reason would do so each time, and harm others meanwhile. */
export const bindsEveryAddress = "BindsEveryAddress";

/** One run of a container: one process group, its log, its record on disk. */
export class ContainerRun {
  readonly containerId: string;
  readonly startedAt: Date;
  /** Resolves when all processes of the run have ended and its log is complete. */
  readonly ended: Promise<Terminated>;
  readonly target: ActionTarget;
  readonly #services: NodeServices;
  readonly #process: ProcessGroup;
  readonly #containment: Containment;
  readonly #over = new AbortController();
  #because: EndCause | undefined;

  private constructor(services: NodeServices, options: RunOptions, process: ProcessGroup, containment: Containment) {
    const { podUid, podIp, container, launch, restartCount } = options;
    this.#services = services;
    this.#process = process;
    this.#containment = containment;
    this.containerId = containerIdOf(podUid, container.name, restartCount);
    this.startedAt = services.clock.now();
    this.target = {
      container,
      podIp,
      launchOf: (command) => containment.enclose(withCommand(launch, command), process.pid),
    };
    this.ended = this.#follow(options);
  }

  /** @throws SpawnFailed */
  static async start(services: NodeServices, options: RunOptions): Promise<ContainerRun> {
    const { clock, records } = services;
    const { launch } = options;
    const { program } = launch;
    const key = recordKey(options);
    const containment = Containment.plan();
    // Before the process exists: if the runtime is killed, the next one finds the process by this record.
    recorded(program, () => records.plan(key, { program, ...containment.record }));
    containment.open();
    let process: ProcessGroup | undefined;
    try {
      process = await startProcess(containment.enclose(launch));
      const { pid } = process;
      recorded(program, () => records.add(key, { pid, program, ...containment.record }));
      return new ContainerRun(services, options, process, containment);
    } catch (error) {
      process?.signal("SIGKILL");
      const { left } = await containment.end(clock);
      if (left.length === 0) records.remove(key, containment.record.mark);
      throw error;
    }
  }

  /** Aborted once the run has ended or is killed: later answers of it have no meaning. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Kills all processes of the run. The first cause is reported. */
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

  /** Runs a lifecycle hook to its end or until aborted. Returns the message of its failure. */
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
    // Only the logs of this run and of the previous one can be requested.
    void removeLog(directories.containerLog(podUid, container.name, restartCount - 2));
    log.attach(this.#process.stdout, "stdout");
    log.attach(this.#process.stderr, "stderr");
    const run = { groupId: this.#process.pid, containment: this.#containment };
    using _ = watch.watch(run, ({ port, pids }) => {
      this.kill(everyAddressCause(port, podIp));
      for (const pid of pids) killProcess(pid); // also processes outside the group
    });

    const exit = await this.#process.exited;
    this.#over.abort(new Error("the container has ended"));
    const finishedAt = clock.now();
    // Remaining processes would conflict with the next run, on its port or in its volume.
    const { left } = await this.#containment.end(clock);
    if (left.length > 0)
      this.#services.log.error(
        { pids: left },
        "could not kill processes of a container; retrying at the next start of local mode",
      );
    else records.remove(recordKey(options), this.#containment.record.mark);
    await log.close();
    liveLogs.delete(path);
    const { startedAt, containerId } = this;
    return toTerminated({ exit, startedAt, finishedAt, containerId, because: this.#because });
  }
}

// The API sets no limit; a hook that never ends must not block a container for ever.
const hookLimitMs = 3_600_000;

export function containerIdOf(podUid: string, container: string, restartCount: number): string {
  return `process://${podUid}/${container}/${restartCount}`;
}

/** A container without a record does not run: after a crash nothing would find its processes. */
function recorded(program: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new SpawnFailed(`cannot record ${program}`, { cause });
  }
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
    message: `the program listens on every address at port ${port} and would answer for all Pods; bind it to $(POD_IP) instead, which is ${podIp} here`,
  };
}
