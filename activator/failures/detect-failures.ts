import type { ContainerStatus, Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { PodSightings } from "../sandbox/pod-sights.ts";
import type { KeptCondition, KeptConditionType, SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { ActivatorError, type ErrorCode } from "./errors-for-clients.ts";

/**
 * Every error of a Pod. One with `endsAtOnce` ends each request at once. Of any other, a Pod with an address gets one attempt to
 * connect first: a port that accepts disproves the failure.
 */
const podFailures = {
  PodEnded: { endsAtOnce: true },
  ContainerFailed: { endsAtOnce: false },
  Unschedulable: { endsAtOnce: false },
} as const satisfies Partial<Record<ErrorCode, { readonly endsAtOnce: boolean }>>;
export type PodFailureCode = keyof typeof podFailures;

/** Why a Pod cannot serve, and whether that is certain. */
export interface PodFailure {
  readonly error: ActivatorError;
  readonly endsAtOnce: boolean;
}

/**
 * Reasons of a container that a wait does not resolve. Not `ImagePullBackOff`: registries recover. `CrashLoopBackOff` is one, although the
 * container runs in between: a program that has exited again and again will exit again, and while it runs, the reason is gone.
 */
const hopeless: ReadonlyMap<string, PodFailureCode> = new Map<string, PodFailureCode>([
  ["InvalidImageName", "ContainerFailed"],
  ["ErrImageNeverPull", "ContainerFailed"],
  ["CreateContainerConfigError", "ContainerFailed"],
  ["StartError", "ContainerFailed"],
  ["CrashLoopBackOff", "ContainerFailed"],
]);

/** Why a container does not run. */
interface ContainerFailure {
  readonly code: PodFailureCode;
  readonly because: string;
}

export interface FailureOptions {
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly sightings: PodSightings;
  /** How long a Pod may be unschedulable before held requests fail; undefined: until their hold timeout. */
  readonly unschedulableGraceMs: number | undefined;
}

/** The controller's error for a sandbox that should run and cannot, if it is about the current generation. */
export function failureOfSandbox(sandbox: SlimSandbox, subject: string): ActivatorError | undefined {
  const ready = currentCondition(sandbox, "Ready");
  if (ready?.status !== "False") return undefined;
  const because = ready.message;
  if (ready.reason === "InvalidConfiguration") return new ActivatorError("InvalidConfiguration", { subject, because });
  // Other errors of the controller are often transient; a quota changes by a person's decision. The controller retries it, so
  // this may be outdated: later requests wait for its next attempt.
  const quota = ready.reason === "ReconcilerError" && /exceeded quota/i.test(because);
  return quota ? new ActivatorError("QuotaExceeded", { subject, because }) : undefined;
}

/** A condition of the current generation. */
export function currentCondition(
  { metadata, status }: SlimSandbox,
  type: KeptConditionType,
): KeptCondition | undefined {
  const condition = status?.conditions?.find((each) => each.type === type);
  return condition?.observedGeneration === metadata.generation ? condition : undefined;
}

/** The permanent failure of a Pod, if any. */
export function failureOfPod(pod: Stored<Pod>, subject: string, options: FailureOptions): PodFailure | undefined {
  const { status } = pod;
  if (status?.phase === "Failed" || status?.phase === "Succeeded") {
    const because = [status.reason, status.message, ...(status.containerStatuses ?? []).map(endOf)];
    return podFailure("PodEnded", subject, because.filter(Boolean).join(", "));
  }
  const failures = [
    ...(status?.initContainerStatuses ?? []).map((container) => failureOf(container, undefined)),
    ...(status?.containerStatuses ?? []).map((container) => failureOf(container, pod.spec?.restartPolicy)),
  ];
  const failure = failures.find((each) => each !== undefined);
  if (failure !== undefined) return podFailure(failure.code, subject, failure.because);
  return failureOfConditions(pod, subject, options);
}

const podFailure = (code: PodFailureCode, subject: string, because: string): PodFailure => ({
  error: new ActivatorError(code, { subject, because }),
  ...podFailures[code],
});

function failureOfConditions(pod: Stored<Pod>, subject: string, options: FailureOptions) {
  if ((unschedulableLeftMs(pod, options) ?? 1) > 0) return undefined;
  const because = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "";
  return podFailure("Unschedulable", subject, because);
}

/** Whether the scheduler says that it finds no node for the Pod. */
export function isUnschedulable({ status }: Pod): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return condition?.status === "False" && condition.reason === "Unschedulable";
}

/** How long the Pod may still be unschedulable, in milliseconds; undefined: it is not, or there is no limit. */
export function unschedulableLeftMs(
  pod: Stored<Pod>,
  { nowMs, sightings, unschedulableGraceMs }: FailureOptions,
): number | undefined {
  if (unschedulableGraceMs === undefined || !isUnschedulable(pod)) return undefined;
  const sinceMs = sightings.sightsOf(pod.metadata.uid)?.unschedulableMs ?? nowMs;
  return sinceMs + unschedulableGraceMs - nowMs;
}

function failureOf(container: ContainerStatus, restartPolicy: string | undefined): ContainerFailure | undefined {
  const { waiting, terminated } = container.state ?? {};
  const reason = waiting?.reason ?? terminated?.reason ?? "";
  const message = waiting?.message ?? terminated?.message;
  const code = hopeless.get(reason);
  if (code !== undefined) {
    const exit = container.lastState?.terminated;
    const last = exit ? ` (last exit code ${exit.exitCode})` : "";
    return { code, because: `container ${container.name}: ${reason}${last}${message ? `: ${message}` : ""}` };
  }
  const end = terminated && restartPolicy === "Never" ? endOf(container) : undefined;
  return end === undefined ? undefined : { code: "ContainerFailed", because: end };
}

function endOf({ name, state }: ContainerStatus): string | undefined {
  const { terminated } = state ?? {};
  if (!terminated) return undefined;
  const { reason = "Terminated", exitCode, message } = terminated;
  return `container ${name}: ${reason} (exit code ${exitCode})${message ? `: ${message}` : ""}`;
}
