// How a suspension is written down on a Sandbox, and what follows from it for whoever reads it. Both programs read it
// here, because a suspension is safe only while they agree.
import { findCondition } from "./conditions.ts";
import { effectiveOperatingMode } from "./defaults.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "./keys.ts";
import type { Sandbox } from "./sandbox.ts";

/** Why a sandbox is `Suspended`: nobody used it, or somebody wrote it so. */
export type SuspensionCause = "Inactivity" | "Person";

/** The mark on a Sandbox that dooms one Pod: nothing is forwarded to it again, and it will be deleted. */
export interface Seal {
  readonly podName: string;
  readonly podUid: string;
  readonly cause: SuspensionCause;
  /** RFC 3339. */
  readonly at: string;
}

/** What `suspensionCauseAnnotation` says of a suspension by inactivity whose write makes this generation. */
export const inactivityAt = (generation: number): string => `Inactivity/${generation}`;

/**
 * Why a suspended sandbox is suspended. Nobody but the controller writes the annotation, and a person who lets a sandbox
 * run and suspends it again leaves a stale one behind. That takes two writes, so it is believed for one write more than
 * its own: an edit of another field does not make it a person's suspension.
 */
export const causeOf = (sandbox: Sandbox): SuspensionCause =>
  sleptByItself(sandbox, sandbox.metadata.generation ?? 0) ? "Inactivity" : "Person";

/** Whether a sandbox runs that last slept by inactivity. Its resume is one write more; after the next edit nobody knows. */
export const isResumedFromInactivity = (sandbox: Sandbox): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Running" && sleptByItself(sandbox, (sandbox.metadata.generation ?? 0) - 1);

function sleptByItself({ metadata }: Sandbox, generation: number): boolean {
  const written = metadata.annotations?.[suspensionCauseAnnotation];
  return written === inactivityAt(generation) || written === inactivityAt(generation - 1);
}

export const formatSeal = (seal: Seal): string => JSON.stringify(seal);

/** The seal on a Sandbox. One that cannot be read dooms no Pod. */
export function sealOf({ metadata }: Sandbox): Seal | undefined {
  const written = metadata.annotations?.[sealedPodAnnotation];
  return written === undefined ? undefined : parseSeal(written);
}

function parseSeal(written: string): Seal | undefined {
  let value: Partial<Record<keyof Seal, unknown>> | null;
  try {
    value = JSON.parse(written);
  } catch {
    return undefined;
  }
  const { podName, podUid, cause, at } = value ?? {};
  const named = typeof podName === "string" && typeof podUid === "string" && podUid !== "";
  const dated = typeof at === "string" && !Number.isNaN(new Date(at).getTime());
  if (!named || !dated || (cause !== "Inactivity" && cause !== "Person")) return undefined;
  return { podName, podUid, cause, at };
}

/** Whether the status says that no Pod was there since this very suspension was asked for. */
export function isCarriedOut({ metadata, status }: Sandbox): boolean {
  const condition = findCondition(status?.conditions, "Suspended");
  return condition?.status === "True" && condition.observedGeneration === metadata.generation;
}

/**
 * Whether a connection may ask this suspended sandbox to run. A suspension by inactivity may be called off at any time, a
 * person's is carried out first. The patch must be conditional on the version that was looked at.
 */
export const mayAskToRun = (sandbox: Sandbox): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Suspended" && (causeOf(sandbox) === "Inactivity" || isCarriedOut(sandbox));

/** What one activator has said to the controller about a sandbox, or has read, and is bound by. */
export interface Bonds {
  /** The highest generation of a suspension that it was told of; 0: none. Until it sees that one it forwards nothing. */
  readonly toldGeneration: number;
  /** UIDs of Pods that it has promised, or seen sealed; each until that Pod has been seen gone. */
  readonly forsworn: ReadonlySet<string>;
}

/**
 * Whether an activator may forward to a Pod now. It must count the request as in flight in the same synchronous step,
 * before it dials.
 */
export function mayForward(sandbox: Sandbox, podUid: string, { toldGeneration, forsworn }: Bonds): boolean {
  if (effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  if ((sandbox.metadata.generation ?? 0) < toldGeneration) return false;
  return !forsworn.has(podUid) && sealOf(sandbox)?.podUid !== podUid;
}
