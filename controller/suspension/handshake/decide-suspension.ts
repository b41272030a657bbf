import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { effectiveAutoSuspension, effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import {
  causeOf,
  isSuspensionComplete,
  namesItsGeneration,
  type Seal,
  type SuspensionCause,
  sealOf,
  sleepsByInactivity,
} from "../../../api/rules/suspension.ts";
import { readTime } from "../../../api/rules/timestamps.ts";
import { recordedPodName } from "../../sandbox/find-pod.ts";
import { loadOf, type Reply, reasonToStayAwake } from "../activators/activator-replies.ts";
import { type Capture, hasBegun } from "../hibernation/capture-state.ts";
import type { MemoryRefusal } from "../hibernation/memory-provider.ts";
import { isToHibernate, refusalToSleep } from "../hibernation/strategy.ts";

/** A Pod that the sandbox controls. */
export interface OwnPod {
  readonly name: string;
  readonly uid: string;
  readonly terminating: boolean;
}

/**
 * The result of asking every activator. They are listed by a consistent read when the round begins: after the write
 * that the question concerns.
 */
export type Round =
  | { readonly asked: "observed"; readonly podUid: string; readonly generation: number; readonly replies: Replies }
  | { readonly asked: "promise"; readonly podUid: string; readonly replies: Replies };

type Replies = readonly Reply[];

/** All inputs of the next step of a suspension. */
export interface Situation {
  readonly sandbox: Stored<Sandbox>;
  readonly pod: OwnPod | undefined;
  /** Whether `pod` is from a consistent read in this pass, and not from a store, which may be stale. */
  readonly podIsFresh: boolean;
  /** Whether an activator sends nothing more to `pod`, which is certain to be of no more use. */
  readonly podIsFenced: boolean;
  /** The result of the last round of questions in this pass. */
  readonly round: Round | undefined;
  /** The API server rejects a newer cause, so the suspension continues with the one that is written. Absent: no. */
  readonly causeIsFinal?: boolean;
  /** Why its memory cannot be kept; absent: it can, or is not to be kept. */
  readonly memoryRefusal?: MemoryRefusal | undefined;
  /** Whether activators are configured. Absent: they are. Without any, only a capture comes before the deletion. */
  readonly hasActivators?: boolean;
  /** How far the capture of `pod` is; absent: nothing captures memory. */
  readonly capture?: Capture;
  /** Milliseconds since the seal; 0 without a seal. */
  readonly sealedForMs: number;
  /** How long an activator whose Pod is Ready may be silent, before a seal, until it counts for nothing. */
  readonly silenceLimitMs: number;
  readonly now: Date;
}

/** One step, for the resourceVersion that it was decided on. A failed step is decided again. */
export type SuspensionStep =
  /** There is no suspension. */
  | { readonly do: "nothing" }
  /** The status may report `Suspended`, for the generation that was read. */
  | { readonly do: "reportSuspended" }
  /** By a consistent read; then decide again. */
  | { readonly do: "readPod"; readonly podName: string }
  | { readonly do: "askObserved"; readonly podUid: string; readonly generation: number }
  /** The sandbox was edited since its suspension for inactivity was written, and inactivity is still its cause. */
  | { readonly do: "renewCause" }
  | { readonly do: "writeRunning"; readonly why: string }
  | { readonly do: "seal"; readonly pod: OwnPod; readonly cause: SuspensionCause }
  | { readonly do: "askPromises"; readonly podUid: string }
  /** Undefined: a watch event triggers the next pass. */
  | { readonly do: "wait"; readonly on: string; readonly recheckAfterMs: number | undefined }
  | BeginCapture
  | GiveUpCapture
  | DeletePod
  | { readonly do: "unseal"; readonly podUid: string };

/** The agent of the node freezes the Pod and writes its memory. From now on the Pod can only be deleted. */
export interface BeginCapture {
  readonly do: "capture";
  readonly image: Stored<MemoryImage>;
  /** As of `DeletePod`: what the freeze interrupts. */
  readonly cut: number;
  readonly unasked: number;
}

/** The agent has not ended the capture in time, or the status cannot tell of it. Whatever was captured does not count. */
export interface GiveUpCapture {
  readonly do: "giveUpCapture";
  readonly image: Stored<MemoryImage>;
  readonly why: "AgentSilent" | "NotRecorded";
}

export interface DeletePod {
  readonly do: "deletePod";
  readonly podName: string;
  readonly podUid: string;
  /** Number of requests that this cuts. */
  readonly cut: number;
  /** The number of activators that may proxy requests to the Pod, and did not answer. */
  readonly unasked: number;
}

/** The delay until requests in flight to a sealed Pod are counted again; it grows with the duration of the drain. */
function recountMs(sandbox: Sandbox, sealedForMs: number): number {
  // A held request waits for the next Pod, which is created only after this one is gone.
  const longestMs = effectiveOperatingMode(sandbox.spec) === "Running" ? 1_000 : 10_000;
  return Math.min(Math.max(sealedForMs / 10, 500), longestMs);
}

/**
 * The next step of the suspension of a sandbox in front of which activators are configured. Whatever was done before is
 * read from the objects, so any leader continues where another stopped.
 */
export function decideSuspension(situation: Situation): SuspensionStep {
  const { sandbox, pod, podIsFresh, causeIsFinal } = situation;
  const isSuspended = effectiveOperatingMode(sandbox.spec) === "Suspended";
  const isCurrent = causeIsFinal || namesItsGeneration(sandbox);
  if (isSuspended && causeOf(sandbox) === "Inactivity" && !isCurrent) return { do: "renewCause" };
  const sealed = sealOf(sandbox);
  if (sealed) return continueSealed(situation, sealed);
  if (!isSuspended) return sealAgain(situation);
  if (!pod) {
    // A client that reads the status may wake the sandbox: reported too early, that would undo a suspension before it is
    // complete.
    const known = podIsFresh || isSuspensionComplete(sandbox);
    if (known && sleepsByInactivity(sandbox) && !isCurrent) return { do: "renewCause" };
    return known ? { do: "reportSuspended" } : { do: "readPod", podName: recordedName(sandbox) };
  }
  // A Pod that another client has deleted cannot be kept.
  if (pod.terminating) return { do: "wait", on: "its Pod to end", recheckAfterMs: undefined };
  if (situation.hasActivators === false) return captureAlone(situation, pod);
  const cause = causeOf(sandbox);
  // A frozen Pod that has lost its seal is not asked about again.
  return cause === "Person" || hasBegun(situation.capture) ? seal(situation, pod, cause) : fallAsleep(situation, pod);
}

/** There is nobody to promise anything. A Pod that is not captured is deleted like any child. */
function captureAlone({ sandbox, capture }: Situation, pod: OwnPod): SuspensionStep {
  if (capture?.is === "due") return { do: "capture", image: capture.image, cut: 0, unasked: 0 };
  return (capture && whileFrozen(capture, { podName: pod.name, podUid: pod.uid }, sandbox)) ?? { do: "nothing" };
}

/** A store that is behind would have a Pod sealed that is gone, and two controllers seal and unseal it in turns. */
const seal = ({ podIsFresh }: Situation, pod: OwnPod, cause: SuspensionCause): SuspensionStep =>
  podIsFresh ? { do: "seal", pod, cause } : { do: "readPod", podName: pod.name };

/**
 * A running sandbox whose Pod is fenced or frozen has lost its seal, as by a client that replaces the whole object. Its cause is unknown,
 * and a person decided that it runs: so its drain has an end.
 */
function sealAgain(situation: Situation): SuspensionStep {
  const { pod, podIsFenced, capture } = situation;
  return pod && (podIsFenced || hasBegun(capture)) && !pod.terminating
    ? seal(situation, pod, "Person")
    : { do: "nothing" };
}

const recordedName = (sandbox: Stored<Sandbox>): string => recordedPodName(sandbox) || sandbox.metadata.name;

/** For inactivity: nothing is changed before every activator has agreed. */
function fallAsleep(situation: Situation, pod: OwnPod): SuspensionStep {
  const { sandbox, round, now, silenceLimitMs, memoryRefusal } = situation;
  const { generation = 0 } = sandbox.metadata;
  const { inactivityTimeoutSeconds, keepAwakeUntil } = effectiveAutoSuspension(sandbox.spec);
  if (inactivityTimeoutSeconds === undefined) return { do: "writeRunning", why: "it is not to sleep by itself" };
  const keptUntil = readTime(keepAwakeUntil);
  if (keptUntil && keptUntil > now) {
    return { do: "writeRunning", why: `it is kept awake until ${keepAwakeUntil}` };
  }
  const kept = refusalToSleep(sandbox, memoryRefusal);
  if (kept) return { do: "writeRunning", why: `its memory cannot be kept: ${kept.message}` };
  const answered = round?.asked === "observed" && round.podUid === pod.uid && round.generation === generation;
  if (!answered) return { do: "askObserved", podUid: pod.uid, generation };
  const why = reasonToStayAwake(round.replies, inactivityTimeoutSeconds * 1000, silenceLimitMs);
  return why === undefined ? seal(situation, pod, "Inactivity") : { do: "writeRunning", why };
}

const endRecheckMs = 5_000;

/** A sealed Pod is marked for deletion, for any operatingMode. */
function continueSealed(situation: Situation, sealed: Seal): SuspensionStep {
  const { sandbox, pod, podIsFresh } = situation;
  const { podUid, podName } = sealed;
  // Without the seal, a Pod would remain that every activator has fenced.
  if (pod?.uid !== podUid) return podIsFresh ? { do: "unseal", podUid } : { do: "readPod", podName };
  // No event may tell of the end of a Pod that only the seal names.
  const recheckAfterMs = podIsFresh ? endRecheckMs : undefined;
  if (pod.terminating) return { do: "wait", on: "its Pod to end", recheckAfterMs };
  if (situation.hasActivators !== false && isPausedAnew(sandbox, sealed)) return seal(situation, pod, "Person");
  return drain(situation, sealed);
}

/** A person has suspended it before its Pod, sealed for inactivity, was gone: now its drain has an end. */
const isPausedAnew = (sandbox: Sandbox, sealed: Seal): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Suspended" && causeOf(sandbox) === "Person" && sealed.cause !== "Person";

function drain(situation: Situation, sealed: Seal): SuspensionStep {
  const { sandbox, round, sealedForMs, capture } = situation;
  const { podUid } = sealed;
  const isFrozen = capture && whileFrozen(capture, sealed, sandbox);
  if (isFrozen) return isFrozen;
  // Activators are configured no longer: nobody is there to answer. One that still runs has fenced the Pod.
  if (situation.hasActivators === false) return endOf(sealed, capture, { cut: 0, unasked: 0 });
  if (round?.asked !== "promise" || round.podUid !== podUid) return { do: "askPromises", podUid };
  const { inFlight, ignored, unknown, unasked } = loadOf(round.replies, sealedForMs);
  const all = inFlight + ignored;
  const end = endOf(sealed, capture, { cut: all, unasked });
  if (all === 0 && !unknown) return end;
  const againMs = recountMs(sandbox, sealedForMs);
  const on = all > 0 ? `${all} in flight` : "an activator to answer";
  const leftMs = effectiveAutoSuspension(sandbox.spec).drainTimeoutSeconds * 1000 - sealedForMs;
  // What does not count may end in peace too, but does not keep a Pod for longer than a person would wait.
  const hasEnd = sealed.cause === "Person" || (inFlight === 0 && !unknown);
  if (!hasEnd) return { do: "wait", on, recheckAfterMs: againMs };
  if (leftMs <= 0) return end;
  return { do: "wait", on, recheckAfterMs: Math.min(leftMs, againMs) };
}

/** What the drain of a sealed Pod ends with. */
const endOf = (
  { podName, podUid }: Seal,
  capture: Capture | undefined,
  load: Pick<DeletePod, "cut" | "unasked">,
): SuspensionStep =>
  capture?.is === "due"
    ? { do: "capture", image: capture.image, ...load }
    : { do: "deletePod", podName, podUid, ...load };

/** A capture begins when nothing is in flight any more, or when the drain has ended. So no activator is asked again. */
function whileFrozen(
  capture: Capture,
  { podName, podUid }: Pick<Seal, "podName" | "podUid">,
  sandbox: Sandbox,
): SuspensionStep | undefined {
  if (capture.is === "over") {
    const untold = capture.kept && !tellsOfMemory(sandbox) ? untilTold(capture.kept) : undefined;
    return untold ?? { do: "deletePod", podName, podUid, cut: 0, unasked: 0 };
  }
  if (capture.is !== "underWay") return undefined;
  const { image, leftMs } = capture;
  if (leftMs <= 0) return { do: "giveUpCapture", image, why: "AgentSilent" };
  return { do: "wait", on: "its memory to be captured", recheckAfterMs: leftMs };
}

/** A sandbox that is not to hibernate any more tells of no memory, and uses none. */
const tellsOfMemory = ({ spec, status }: Sandbox): boolean =>
  status?.hibernation?.state === "Hibernated" || !isToHibernate(spec);

/** This pass writes the status. Memory that no status tells of is not used, so the Pod that has it is not deleted before. */
function untilTold({ image, leftMs }: NonNullable<Extract<Capture, { is: "over" }>["kept"]>): SuspensionStep {
  if (leftMs <= 0) return { do: "giveUpCapture", image, why: "NotRecorded" };
  return { do: "wait", on: "the status to report its memory", recheckAfterMs: Math.min(leftMs, toldAfterMs) };
}

/** The write of the status, or its error, has the next pass made. This is for what comes of neither. */
const toldAfterMs = 1_000;

/** Whether a suspension is cancelled if the API server rejects its seal. A manual one waits. */
export const endsWithoutSeal = ({ spec }: Sandbox, cause: SuspensionCause): boolean =>
  cause === "Inactivity" && effectiveOperatingMode(spec) === "Suspended";
