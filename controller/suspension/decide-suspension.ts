import { effectiveAutoSuspension, effectiveOperatingMode } from "../../api/defaults.ts";
import { podNameAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { causeOf, isCarriedOut, type Seal, type SuspensionCause, sealOf } from "../../api/suspension.ts";
import { loadOf, type Reply, reasonToStayAwake } from "./replies.ts";

/** A Pod that the sandbox controls. */
export interface OwnPod {
  readonly name: string;
  readonly uid: string;
  readonly terminating: boolean;
}

/**
 * What came of asking every activator. They are listed by a consistent read when the round begins: after the write that
 * the question is about.
 */
export type Round =
  | { readonly asked: "observed"; readonly podUid: string; readonly generation: number; readonly replies: Replies }
  | { readonly asked: "promise"; readonly podUid: string; readonly replies: Replies };

type Replies = readonly Reply[];

/** Everything that the next step of a suspension depends on. */
export interface Situation {
  readonly sandbox: Stored<Sandbox>;
  readonly pod: OwnPod | undefined;
  /** Whether `pod` is from a consistent read in this pass, and not from a store, which may be behind. */
  readonly podIsFresh: boolean;
  /** What the last round of questions in this pass brought. */
  readonly round: Round | undefined;
  /** Milliseconds since the seal; 0 where there is none. */
  readonly sealedForMs: number;
  readonly now: Date;
}

/** One step, to be done with the version of the sandbox that it was decided on. Each may fail, and is decided anew. */
export type SuspensionStep =
  /** No suspension is to be carried out. */
  | { readonly do: "nothing" }
  /** The status may say `Suspended`, of the generation that was looked at. */
  | { readonly do: "tellSuspended" }
  /** By a consistent read; then decide anew. */
  | { readonly do: "readPod"; readonly podName: string }
  | { readonly do: "askObserved"; readonly podUid: string; readonly generation: number }
  | { readonly do: "writeRunning"; readonly why: string }
  | { readonly do: "seal"; readonly pod: OwnPod; readonly cause: SuspensionCause }
  | { readonly do: "askPromises"; readonly podUid: string }
  /** Undefined: the watch tells when to look again. */
  | { readonly do: "wait"; readonly on: string; readonly recheckAfterMs: number | undefined }
  /** `cut`: how many requests this ends. */
  | { readonly do: "deletePod"; readonly podName: string; readonly podUid: string; readonly cut: number }
  | { readonly do: "unseal"; readonly podUid: string };

/** How soon what is in flight to a doomed Pod is counted again: the longer that lasts already, the later. */
function recountMs(sandbox: Sandbox, sealedForMs: number): number {
  // Whoever is held waits for the next Pod, and that one for this to end.
  const longestMs = effectiveOperatingMode(sandbox.spec) === "Running" ? 1_000 : 10_000;
  return Math.min(Math.max(sealedForMs / 10, 500), longestMs);
}

/**
 * The next step of the suspension of a sandbox in front of which activators are configured. Whatever was done before is
 * read from the objects, so any leader goes on where another stopped.
 */
export function decideSuspension(situation: Situation): SuspensionStep {
  const { sandbox, pod, podIsFresh } = situation;
  const sealed = sealOf(sandbox);
  if (sealed) return carryOut(situation, sealed);
  if (effectiveOperatingMode(sandbox.spec) === "Running") return { do: "nothing" };
  if (!pod) {
    // Whoever reads the status may wake the sandbox: told too early, that would undo a pause before it happened.
    const known = podIsFresh || isCarriedOut(sandbox);
    return known ? { do: "tellSuspended" } : { do: "readPod", podName: recordedName(sandbox) };
  }
  // A Pod that somebody else has deleted cannot be kept.
  if (pod.terminating) return { do: "wait", on: "its Pod to end", recheckAfterMs: undefined };
  return causeOf(sandbox) === "Person" ? seal(situation, pod, "Person") : fallAsleep(situation, pod);
}

/** A store that is behind would have a Pod sealed that is gone, and two controllers seal and unseal it in turns. */
const seal = ({ podIsFresh }: Situation, pod: OwnPod, cause: SuspensionCause): SuspensionStep =>
  podIsFresh ? { do: "seal", pod, cause } : { do: "readPod", podName: pod.name };

/** Whether a Pod may be made for this sandbox: a doomed one, and the seal on it, go first. */
export const mayHaveNextPod = (sandbox: Sandbox): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Running" && sealOf(sandbox) === undefined;

const recordedName = ({ metadata }: Stored<Sandbox>): string =>
  metadata.annotations?.[podNameAnnotation] || metadata.name;

/** By inactivity: nothing is touched before everybody has agreed. */
function fallAsleep(situation: Situation, pod: OwnPod): SuspensionStep {
  const { sandbox, round, now } = situation;
  const { generation = 0 } = sandbox.metadata;
  const { inactivityTimeoutSeconds, keepAwakeUntil } = effectiveAutoSuspension(sandbox.spec);
  if (inactivityTimeoutSeconds === undefined) return { do: "writeRunning", why: "it is not to sleep by itself" };
  if (keepAwakeUntil !== undefined && new Date(keepAwakeUntil) > now) {
    return { do: "writeRunning", why: `it is kept awake until ${keepAwakeUntil}` };
  }
  const answered = round?.asked === "observed" && round.podUid === pod.uid && round.generation === generation;
  if (!answered) return { do: "askObserved", podUid: pod.uid, generation };
  const why = reasonToStayAwake(round.replies, inactivityTimeoutSeconds * 1000);
  return why === undefined ? seal(situation, pod, "Inactivity") : { do: "writeRunning", why };
}

/** A sealed Pod is doomed, whatever the sandbox asks for by now. */
function carryOut(situation: Situation, sealed: Seal): SuspensionStep {
  const { sandbox, pod, podIsFresh } = situation;
  const { podUid, podName } = sealed;
  // Taken off too early, the seal would leave a Pod that everybody has forsworn.
  if (pod?.uid !== podUid) return podIsFresh ? { do: "unseal", podUid } : { do: "readPod", podName };
  if (pod.terminating) return { do: "wait", on: "its Pod to end", recheckAfterMs: undefined };
  if (isPausedAnew(sandbox, sealed)) return seal(situation, pod, "Person");
  return drain(situation, sealed);
}

/** A person has suspended it before a Pod was gone that inactivity had doomed: now its drain has an end. */
const isPausedAnew = (sandbox: Sandbox, sealed: Seal): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Suspended" && causeOf(sandbox) === "Person" && sealed.cause !== "Person";

function drain({ sandbox, round, sealedForMs }: Situation, sealed: Seal): SuspensionStep {
  const { podUid, podName } = sealed;
  if (round?.asked !== "promise" || round.podUid !== podUid) return { do: "askPromises", podUid };
  const { inFlight, ignored, unknown } = loadOf(round.replies, sealedForMs);
  const all = inFlight + ignored;
  if (all === 0 && !unknown) return { do: "deletePod", podName, podUid, cut: 0 };
  const againMs = recountMs(sandbox, sealedForMs);
  const on = all > 0 ? `${all} in flight` : "an activator to answer";
  const leftMs = effectiveAutoSuspension(sandbox.spec).drainTimeoutSeconds * 1000 - sealedForMs;
  // What does not count may end in peace too, but does not keep a Pod for longer than a person would wait.
  const hasEnd = sealed.cause === "Person" || (inFlight === 0 && !unknown);
  if (!hasEnd) return { do: "wait", on, recheckAfterMs: againMs };
  if (leftMs <= 0) return { do: "deletePod", podName, podUid, cut: all };
  return { do: "wait", on, recheckAfterMs: Math.min(leftMs, againMs) };
}
