import { constants } from "node:os";
import type { Container, ContainerState, ContainerStatus } from "../../../api/kinds/core.ts";

/** How a process ended; one of the two fields is set. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type Terminated = NonNullable<ContainerState["terminated"]>;

/** The status of a container before its first run. */
export function notYetRun(container: Container, reason: "ContainerCreating" | "PodInitializing"): ContainerStatus {
  return {
    name: container.name,
    ready: false,
    started: false,
    restartCount: 0,
    image: container.image ?? "",
    imageID: "",
    state: { waiting: { reason } },
  };
}

/** A shell's convention, shared by container runtimes: 128 plus the number of the signal. */
export function exitCodeOf({ code, signal }: Exit): number {
  return signal === null ? (code ?? 255) : 128 + constants.signals[signal];
}

/** The result of one run of a container. */
export function toTerminated(run: {
  readonly exit: Exit;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly containerId: string;
  /** The reason, if the runtime ended the container. */
  readonly because?: { readonly reason: string; readonly message: string } | undefined;
}): Terminated {
  const exitCode = exitCodeOf(run.exit);
  return {
    exitCode,
    reason: run.because?.reason ?? (exitCode === 0 ? "Completed" : "Error"),
    ...(run.because && { message: run.because.message }),
    startedAt: secondsTime(run.startedAt),
    finishedAt: secondsTime(run.finishedAt),
    containerID: run.containerId,
  };
}

/** The program could not be started. Container runtimes report 128 for this. */
export function startError(message: string, at: Date, containerId: string): Terminated {
  const time = secondsTime(at);
  return { exitCode: 128, reason: "StartError", message, startedAt: time, finishedAt: time, containerID: containerId };
}

/**
 * The status of a container whose runtime crashed, as a kubelet reports it after a reboot: the run has ended for an
 * unknown reason.
 */
export function afterReboot(status: ContainerStatus, now: Date): ContainerStatus {
  const running = status.state?.running;
  if (!running) return { ...status, ready: false, started: false };
  const terminated: Terminated = {
    exitCode: 255,
    reason: "Unknown",
    message: "The runtime stopped while the container was running",
    ...(running.startedAt && { startedAt: running.startedAt }),
    finishedAt: secondsTime(now),
    ...(status.containerID && { containerID: status.containerID }),
  };
  return { ...status, ready: false, started: false, state: { terminated } };
}

/** A `metav1.Time`: RFC 3339 in whole seconds. */
export function secondsTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
