import type { ContainerStatus, Pod, PodCondition, PodPhase, PodStatus } from "../../../api/kinds/core.ts";
import { secondsTime } from "../container/container-state.ts";

/** The runtime's state of one Pod. */
export interface PodView {
  /** Its spec, and the conditions that other clients wrote, for readiness gates. */
  readonly pod: Pod;
  readonly podIp: string;
  readonly hostIp: string;
  readonly startTime: string;
  readonly initContainers: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  /** The reason why the Pod as a whole has failed, independent of its containers. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  /** Whether the Pod was deleted and all its processes have ended. */
  readonly terminated: boolean;
  /** The previous status: the time of a condition changes only with its status. */
  readonly previous: PodStatus | undefined;
  readonly now: Date;
}

/** The whole status of a Pod as a kubelet writes it, without the conditions of other clients. */
export function makePodStatus(view: PodView): PodStatus {
  const phase = phaseOf(view);
  return {
    phase,
    ...(view.failure ?? {}),
    conditions: makeConditions(view, phase).map((condition) => withTime(condition, view)),
    hostIP: view.hostIp,
    podIP: view.podIp,
    podIPs: [{ ip: view.podIp }],
    startTime: view.startTime,
    ...(view.initContainers.length > 0 && { initContainerStatuses: view.initContainers }),
    containerStatuses: view.containers,
  };
}

/** Whether the Pod has ended for good. */
export function isFinished(phase: PodPhase | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether this name is an init container with restart policy Always. */
export function isSidecar(pod: Pod, name: string): boolean {
  return (
    pod.spec?.initContainers?.some((container) => container.name === name && container.restartPolicy === "Always") ??
    false
  );
}

/** The kubelet's `getPhase`, for the cases that occur here. */
export function phaseOf(
  view: Pick<PodView, "pod" | "initContainers" | "containers" | "failure" | "terminated">,
): PodPhase {
  const restartPolicy = view.pod.spec?.restartPolicy ?? "Always";
  if (view.failure) return "Failed";
  const failedInit = view.initContainers.some(
    ({ name, state }) => !isSidecar(view.pod, name) && state?.terminated && state.terminated.exitCode !== 0,
  );
  if (failedInit && restartPolicy === "Never") return "Failed";
  if (uninitialized(view).length > 0) return view.terminated ? "Failed" : "Pending";

  const ended = view.containers.flatMap(({ state, lastState }) => {
    const end = state?.terminated ?? (state?.waiting ? lastState?.terminated : undefined);
    return end ? [end] : [];
  });
  const running = view.containers.filter(({ state }) => state?.running).length;
  const sidecarRuns = view.initContainers.some(({ name, state }) => isSidecar(view.pod, name) && state?.running);
  const neverRan = view.containers.length - running - ended.length;
  const succeeded = neverRan === 0 && ended.every(({ exitCode }) => exitCode === 0);
  if (view.terminated) return succeeded ? "Succeeded" : "Failed";
  if (neverRan > 0) return "Pending";
  if (running > 0 || sidecarRuns || restartPolicy === "Always") return "Running";
  if (succeeded) return "Succeeded";
  return restartPolicy === "Never" ? "Failed" : "Running";
}

type Fact = Omit<PodCondition, "lastTransitionTime" | "lastProbeTime">;

function makeConditions(view: PodView, phase: PodPhase): readonly Fact[] {
  const waitingInit = uninitialized(view);
  const initialized: Fact =
    waitingInit.length === 0 || phase === "Succeeded"
      ? { type: "Initialized", status: "True" }
      : {
          type: "Initialized",
          status: "False",
          reason: "ContainersNotInitialized",
          message: `containers with incomplete status: [${waitingInit.join(" ")}]`,
        };
  const containersReady = containersReadiness(view, phase);
  return [
    { type: "PodReadyToStartContainers", status: isFinished(phase) ? "False" : "True" },
    initialized,
    { ...(containersReady.status === "True" ? gateReadiness(view.pod) : containersReady), type: "Ready" },
    containersReady,
    { type: "PodScheduled", status: "True" },
  ];
}

function containersReadiness({ pod, initContainers, containers }: PodView, phase: PodPhase): Fact {
  const type = "ContainersReady";
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const watched = [...initContainers.filter(({ name }) => isSidecar(pod, name)), ...containers];
  const unready = watched.filter(({ ready }) => !ready).map(({ name }) => name);
  if (unready.length === 0) return { type, status: "True" };
  const message = `containers with unready status: [${unready.join(" ")}]`;
  return { type, status: "False", reason: "ContainersNotReady", message };
}

/** The result of the Pod's readiness gates. */
function gateReadiness(pod: Pod): Fact {
  const complaints = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = pod.status?.conditions?.find(({ type }) => type === conditionType);
    if (!condition) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    if (condition.status === "True") return [];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  if (complaints.length === 0) return { type: "Ready", status: "True" };
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: complaints.join(", ") };
}

/** Names of the init containers that still block the main containers. */
function uninitialized({ pod, initContainers }: Pick<PodView, "pod" | "initContainers">): readonly string[] {
  return initContainers
    .filter(({ name, state, started }) =>
      isSidecar(pod, name) ? started !== true && !state?.terminated : state?.terminated?.exitCode !== 0,
    )
    .map(({ name }) => name);
}

function withTime(fact: Fact, { previous, now }: PodView): PodCondition {
  const before = previous?.conditions?.find(({ type }) => type === fact.type);
  const lastTransitionTime =
    before?.status === fact.status && before.lastTransitionTime ? before.lastTransitionTime : secondsTime(now);
  return { ...fact, lastTransitionTime };
}
