import type { Condition } from "../../api/kinds/meta.ts";
import type { Hibernation, Sandbox } from "../../api/kinds/sandbox.ts";
import { findCondition, isConditionTrue } from "../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../api/rules/defaults.ts";
import { unreadableTimesText } from "../../api/rules/timestamps.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import type { MemoryRefusal } from "../suspension/hibernation/memory-provider.ts";
import { isLossReason, type LossReason } from "../suspension/hibernation/restore.ts";
import { type Failure, partOf } from "./actions.ts";
import { isDeletedOnExpiry } from "./expiry.ts";

/** The status before and after one pass. */
export interface StatusTransition {
  readonly sandbox: Sandbox;
  readonly before: readonly Condition[];
  readonly after: readonly Condition[];
  readonly podCreated: boolean;
  readonly failures: readonly Failure[];
  /** In the status after the pass; the sandbox has the one before. Absent: it is not to hibernate. */
  readonly hibernation?: Hibernation | undefined;
  readonly memoryRefusal?: MemoryRefusal | undefined;
  /** What the API server says against the Pod whose memory this pass has given up; absent: nothing. */
  readonly rejection?: string | undefined;
}

type Conditions = Pick<StatusTransition, "before" | "after">;

/** The events of a pass: only for changes, so that a pass without changes records none. */
export function eventsOf(transition: StatusTransition): readonly NewEvent[] {
  const { sandbox: regarding } = transition;
  return eventSources.flatMap((contentOf) => {
    const content = contentOf(transition);
    return content ? [{ regarding, ...content }] : [];
  });
}

type EventContent = Omit<NewEvent, "regarding">;

const eventSources: readonly ((transition: StatusTransition) => EventContent | undefined)[] = [
  podCreated,
  volumeClaimFailed,
  podCreateFailed,
  suspensionFailed,
  multiplePods,
  podEnded,
  ready,
  suspended,
  memoryLost,
  memoryKept,
  podRejected,
  woken,
  keptAwake,
  expired,
  cleanupFailed,
  unreadableTimes,
];

const reasonOf = (conditions: readonly Condition[], type: string) => findCondition(conditions, type)?.reason;

/** The condition is True since this pass. */
export const turnedTrue = ({ before, after }: Conditions, type: string): boolean =>
  !isConditionTrue(before, type) && isConditionTrue(after, type);

/** Ready has this reason since this pass. */
export const becameUnready = ({ before, after }: Conditions, reason: string): boolean =>
  reasonOf(before, "Ready") !== reason && reasonOf(after, "Ready") === reason;

function podCreated({ podCreated, sandbox }: StatusTransition): EventContent | undefined {
  if (!podCreated) return undefined;
  const note = `Created Pod "${sandbox.metadata.name}"`;
  return { type: "Normal", reason: "SandboxPodCreated", action: "PodCreation", note };
}

function volumeClaimFailed(transition: StatusTransition): EventContent | undefined {
  const failure = newFailureOf(transition, ({ action }) => partOf(action) === "claims");
  if (!failure) return undefined;
  const note = `Failed to get a volume claim: ${failure.message}`;
  return { type: "Warning", reason: "SandboxVolumeClaimFailed", action: "VolumeClaimProvisioning", note };
}

function podCreateFailed(transition: StatusTransition): EventContent | undefined {
  const failure = newFailureOf(transition, ({ action }) => action.do === "createPod");
  if (!failure) return undefined;
  const note = `Failed to create Pod: ${failure.message}`;
  return { type: "Warning", reason: "SandboxPodCreateFailed", action: "PodCreation", note };
}

function suspensionFailed(transition: StatusTransition): EventContent | undefined {
  const failure = newFailureOf(transition, ({ action }) => action.do === "suspend");
  if (!failure) return undefined;
  const note = `Failed to suspend: ${failure.message}`;
  return { type: "Warning", reason: "SandboxSuspensionFailed", action: "Suspending", note };
}

/** Undefined if Ready has reported it before. */
function newFailureOf(
  { failures, before, after }: StatusTransition,
  concerns: (failure: Failure) => boolean,
): Failure | undefined {
  const known = findCondition(before, "Ready")?.message === findCondition(after, "Ready")?.message;
  return known ? undefined : failures.find(concerns);
}

function multiplePods(transition: StatusTransition): EventContent | undefined {
  if (!becameUnready(transition, "MultiplePods")) return undefined;
  const note = findCondition(transition.after, "Ready")?.message ?? "";
  return { type: "Warning", reason: "MultiplePods", action: "Reconciling", note };
}

/** A Pod that ends because its sandbox is suspended gets no separate event; the suspension has one. */
function podEnded(transition: StatusTransition): EventContent | undefined {
  if (effectiveOperatingMode(transition.sandbox.spec) === "Suspended") return undefined;
  const finished = findCondition(transition.after, "Finished");
  if (!finished || !turnedTrue(transition, "Finished")) return undefined;
  const type = finished.reason === "PodFailed" ? "Warning" : "Normal";
  return { type, reason: finished.reason, action: "Reconciling", note: finished.message };
}

function ready(transition: StatusTransition): EventContent | undefined {
  if (!turnedTrue(transition, "Ready")) return undefined;
  return { type: "Normal", reason: "SandboxReady", action: "Reconciling", note: "Sandbox is ready" };
}

/** A sandbox that was created suspended gets no event. */
function suspended(transition: StatusTransition): EventContent | undefined {
  if (!findCondition(transition.before, "Suspended") || !turnedTrue(transition, "Suspended")) return undefined;
  return { type: "Normal", reason: "SandboxSuspended", action: "Reconciling", note: "Sandbox is suspended" };
}

/** A suspension costs the memory that was to be kept. Once for each suspension. */
export const losesMemory = ({ sandbox, hibernation }: StatusTransition): boolean =>
  hibernation?.state === "Stopped" && sandbox.status?.hibernation?.state !== "Stopped";

/** The sandbox stays awake for its memory, since this pass. */
export const staysAwake = ({ before, after }: Conditions): boolean =>
  reasonOf(before, "AutoSuspensionBlocked") !== "MemoryNotKept" &&
  reasonOf(after, "AutoSuspensionBlocked") === "MemoryNotKept";

/** The memory went with the other children of an expired sandbox. Until it is gone, the status tells of it. */
const expiresWithMemory = ({ sandbox, hibernation, after }: StatusTransition): boolean =>
  sandbox.status?.hibernation?.state === "Hibernated" &&
  hibernation === undefined &&
  reasonOf(after, "Ready") === "SandboxExpired";

function memoryLost(transition: StatusTransition): EventContent | undefined {
  if (expiresWithMemory(transition)) {
    const note = "Sandbox has expired, so the memory that was kept is removed";
    return { type: "Warning", reason: "MemoryLost", action: "Expiry", note };
  }
  if (!losesMemory(transition)) return undefined;
  const { reason, message = "" } = transition.hibernation ?? {};
  // It was told as kept, and nothing is wrong with the suspension.
  if (reason === "StrategyChanged") {
    const note = `Sandbox has lost the memory that was kept: ${message}`;
    return { type: "Warning", reason: "MemoryLost", action: "Suspending", note };
  }
  const note = `Sandbox is suspended without its memory: ${message}`;
  return { type: "Warning", reason: "MemoryNotKept", action: "Suspending", note };
}

/** A suspension has kept the memory. */
export const keepsMemory = ({ sandbox, hibernation }: StatusTransition): boolean =>
  hibernation?.state === "Hibernated" && sandbox.status?.hibernation?.state !== "Hibernated";

function memoryKept(transition: StatusTransition): EventContent | undefined {
  if (!keepsMemory(transition)) return undefined;
  const { bytes, durationMilliseconds: tookMs, node = "" } = transition.hibernation ?? {};
  const size = bytes === undefined ? "" : `: ${bytes} bytes`;
  const time = tookMs === undefined ? "" : ` in ${tookMs} ms`;
  const note = `Sandbox is suspended, and node ${node} has its memory${size}${time}`;
  return { type: "Normal", reason: "MemoryKept", action: "Suspending", note };
}

/** How memory that was kept came into the next Pod, since this pass; undefined: it is not known now, or was before. */
export function wakeOf({ sandbox, hibernation }: StatusTransition): Hibernation["lastWake"] {
  const before = sandbox.status?.hibernation;
  const isKept = before?.state === "Hibernated" || before?.state === "Restoring";
  const { reason, podUID } = hibernation?.lastWake ?? {};
  // The status had not told of this memory.
  const isUntold = reason === "NotRecorded" && podUID !== before?.lastWake?.podUID;
  const isNew = isKept || (before?.state === undefined && (before?.lastWake === undefined || isUntold));
  const wake = isNew && hibernation?.state === undefined ? hibernation?.lastWake : undefined;
  return wake?.mode === "Restored" || isLossReason(wake?.reason) ? wake : undefined;
}

const lossesOfSleep: ReadonlySet<unknown> = new Set<LossReason>(["ImageLost", "Evicted", "StrategyChanged"]);

/** A wake after a sleep in which the memory was lost, since this pass. The event of the loss came during the sleep. */
export function wakeAfterLoss({ sandbox, hibernation }: StatusTransition): Hibernation["lastWake"] {
  const { state, reason } = sandbox.status?.hibernation ?? {};
  const wasLost = state === "Stopped" && lossesOfSleep.has(reason);
  return wasLost && hibernation?.state === undefined ? hibernation?.lastWake : undefined;
}

function woken(transition: StatusTransition): EventContent | undefined {
  const wake = wakeOf(transition);
  if (!wake) return undefined;
  const { mode, reason, durationMilliseconds: tookMs } = wake;
  if (mode === "Anew") {
    const note = `Sandbox was started anew, without the memory that was kept: ${reason ?? ""}`;
    return { type: "Warning", reason: "MemoryLost", action: "Resuming", note };
  }
  const note = `Sandbox continues with its memory${tookMs === undefined ? "" : `: restored in ${tookMs} ms`}`;
  return { type: "Normal", reason: "MemoryRestored", action: "Resuming", note };
}

/** Comes before the memory is told as lost. */
function podRejected({ rejection }: StatusTransition): EventContent | undefined {
  if (rejection === undefined) return undefined;
  const note = `The API server rejects the Pod that is to be restored, so the sandbox starts anew: ${rejection}`;
  return { type: "Warning", reason: "PodRejected", action: "Resuming", note };
}

function keptAwake(transition: StatusTransition): EventContent | undefined {
  if (!staysAwake(transition)) return undefined;
  const note = findCondition(transition.after, "AutoSuspensionBlocked")?.message ?? "";
  return { type: "Warning", reason: "SuspensionBlocked", action: "Suspending", note };
}

/** At most once for each generation: the API server accepts times that cannot be parsed. */
function unreadableTimes({ sandbox: { metadata, spec }, before }: StatusTransition): EventContent | undefined {
  if (findCondition(before, "Ready")?.observedGeneration === metadata.generation) return undefined;
  const note = unreadableTimesText({
    "spec.shutdownTime": spec.shutdownTime,
    "spec.autoSuspension.keepAwakeUntil": spec.autoSuspension?.keepAwakeUntil,
  });
  return note === undefined ? undefined : { type: "Warning", reason: "UnreadableTime", action: "Reconciling", note };
}

function expired(transition: StatusTransition): EventContent | undefined {
  if (isDeletedOnExpiry(transition.sandbox) || !becameUnready(transition, "SandboxExpired")) return undefined;
  return { type: "Normal", reason: "SandboxExpired", action: "Expiry", note: "Sandbox has expired" };
}

function cleanupFailed(transition: StatusTransition): EventContent | undefined {
  if (reasonOf(transition.after, "Ready") !== "SandboxExpired") return undefined;
  const failure = newFailureOf(transition, ({ action }) => action.do !== "suspend");
  if (!failure) return undefined;
  const note = `Sandbox has expired, and its cleanup failed: ${failure.message}`;
  return { type: "Warning", reason: "SandboxCleanupFailed", action: "Expiry", note };
}
