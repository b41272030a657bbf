// The suspension fields of a Sandbox and their meaning. Both programs use this code, because a suspension is safe only
// while they agree.

import type { Condition, ObjectMeta } from "../kinds/meta.ts";
import type { SandboxSpec } from "../kinds/sandbox.ts";
import { findCondition } from "./conditions.ts";
import { effectiveOperatingMode } from "./defaults.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "./keys.ts";
import { isDnsSubdomain } from "./names.ts";
import { readTime } from "./timestamps.ts";

/** What the rules of suspension read of a Sandbox: a program that keeps only a part of each one keeps this. */
export interface Suspendable {
  readonly metadata: Pick<ObjectMeta, "generation"> & {
    readonly annotations?: {
      readonly [sealedPodAnnotation]?: string;
      readonly [suspensionCauseAnnotation]?: string;
    };
  };
  readonly spec: Pick<SandboxSpec, "operatingMode">;
  readonly status?: { readonly conditions?: readonly Pick<Condition, "type" | "status" | "observedGeneration">[] };
}

/** Why a sandbox is `Suspended`: for inactivity, or manually. */
export type SuspensionCause = "Inactivity" | "Person";

/** The annotation that seals one Pod: nothing is forwarded to it again, and it will be deleted. */
export interface Seal {
  readonly podName: string;
  readonly podUid: string;
  readonly cause: SuspensionCause;
  /** RFC 3339. */
  readonly at: string;
}

/** The value of `suspensionCauseAnnotation` for a suspension for inactivity whose write creates this generation. */
export const inactivityAt = (generation: number): string => `Inactivity/${generation}`;

/**
 * The cause of a suspension. Only the controller writes the annotation. A person who resumes and suspends a sandbox
 * leaves a stale one behind. That takes two writes, so the annotation is valid for its own generation and the next: an
 * edit of another field does not make it a manual suspension.
 */
export const causeOf = (sandbox: Suspendable): SuspensionCause =>
  sleptByItself(sandbox, sandbox.metadata.generation ?? 0) ? "Inactivity" : "Person";

/**
 * Whether a sandbox is, or is being, suspended for inactivity. Beyond `causeOf` it accepts the annotation while the
 * status has the generation of that suspension: no controller has seen the sandbox run since, so it got no Pod, however
 * often it was edited. A resume and a second suspension in that time had nothing to suspend. Not for decisions about an
 * existing Pod.
 */
export function sleepsByInactivity(sandbox: Suspendable): boolean {
  if (effectiveOperatingMode(sandbox.spec) !== "Suspended") return false;
  const condition = findCondition(sandbox.status?.conditions, "Suspended");
  const ofThatSleep = condition?.status === "True" && sleptByItself(sandbox, condition.observedGeneration ?? 0);
  return causeOf(sandbox) === "Inactivity" || ofThatSleep;
}

/** Whether the annotation has the current generation. If not, further edits would make it invalid. */
export const namesItsGeneration = ({ metadata }: Suspendable): boolean =>
  metadata.annotations?.[suspensionCauseAnnotation] === inactivityAt(metadata.generation ?? 0);

/**
 * Whether a running sandbox was last suspended for inactivity. Its resume is one more write; after the next edit this
 * is unknown.
 */
export const isResumedFromInactivity = (sandbox: Suspendable): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Running" && sleptByItself(sandbox, (sandbox.metadata.generation ?? 0) - 1);

function sleptByItself({ metadata }: Suspendable, generation: number): boolean {
  const written = metadata.annotations?.[suspensionCauseAnnotation];
  return written === inactivityAt(generation) || written === inactivityAt(generation - 1);
}

export const formatSeal = (seal: Seal): string => JSON.stringify(seal);

/** The longest UID of a Pod in a seal, in characters. API servers use UUIDs of 36. */
const podUidMax = 128;
/** The longest text of a seal, in characters: any user may write it, and it is parsed with each read of its Sandbox. */
export const sealTextMax = 1_024;

/** The seal on a Sandbox. A text that cannot be parsed, or is too long, seals no Pod. */
export function sealOf({ metadata }: Suspendable): Seal | undefined {
  const written = metadata.annotations?.[sealedPodAnnotation];
  return written === undefined ? undefined : parseSeal(written);
}

function parseSeal(written: string): Seal | undefined {
  if (written.length > sealTextMax) return undefined;
  let value: Partial<Record<keyof Seal, unknown>> | null;
  try {
    value = JSON.parse(written);
  } catch {
    return undefined;
  }
  const { podName, podUid, cause, at } = value ?? {};
  if (typeof podName !== "string" || !isDnsSubdomain(podName)) return undefined;
  if (typeof podUid !== "string" || podUid === "" || podUid.length > podUidMax) return undefined;
  if (typeof at !== "string" || readTime(at) === undefined) return undefined;
  if (cause !== "Inactivity" && cause !== "Person") return undefined;
  return { podName, podUid, cause, at };
}

/** Whether the status reports that the Pod is gone, for this suspension. */
export function isSuspensionComplete({ metadata, status }: Suspendable): boolean {
  const condition = findCondition(status?.conditions, "Suspended");
  return condition?.status === "True" && condition.observedGeneration === metadata.generation;
}

/**
 * Whether a connection may resume this suspended sandbox. A suspension for inactivity may be cancelled at any time, a
 * manual one must be complete first. The patch must be conditional on the version that was read.
 */
export const mayAskToRun = (sandbox: Suspendable): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Suspended" &&
  (causeOf(sandbox) === "Inactivity" || isSuspensionComplete(sandbox));

/** The fences of one activator for a sandbox: what it has answered to the controller, or has read. */
export interface Fences {
  /**
   * The highest generation of a suspension that the controller has sent; 0: none. Until the activator sees that
   * generation it forwards nothing.
   */
  readonly reportedGeneration: number;
  /**
   * UIDs of Pods that it has promised, or seen sealed; each until that Pod has been seen gone. Of Pods that it has not
   * seen yet it keeps only the last few, because any user who may annotate a Sandbox can name others without limit.
   */
  readonly fenced: ReadonlySet<string>;
}

/**
 * Whether an activator may forward to a Pod now. It must count the request as in flight in the same synchronous step,
 * before it dials.
 */
export function mayForward(sandbox: Suspendable, podUid: string, { reportedGeneration, fenced }: Fences): boolean {
  if (effectiveOperatingMode(sandbox.spec) !== "Running") return false;
  if ((sandbox.metadata.generation ?? 0) < reportedGeneration) return false;
  return !fenced.has(podUid) && sealOf(sandbox)?.podUid !== podUid;
}

/** Whether a Pod may be created for this sandbox: a sealed Pod, and its seal, must be gone first. */
export const mayHaveNextPod = (sandbox: Suspendable): boolean =>
  effectiveOperatingMode(sandbox.spec) === "Running" && sealOf(sandbox) === undefined;
