import { type Fact, findCondition } from "../../api/conditions.ts";
import { effectiveAutoResume, effectiveOperatingMode } from "../../api/defaults.ts";
import type { Condition, Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import { causeOf } from "../../api/suspension.ts";
import { ownershipOf } from "../ownership.ts";
import { podEnding } from "../sandbox/pod-state.ts";
import type { ClaimProblem } from "./claim-problem.ts";
import { resumeOf, resumingReason } from "./resuming.ts";

/** What one pass ended with, as far as the conditions of a claim tell it. */
export interface Seen {
  readonly now: Date;
  /** As it was acted on, with the status that it had. */
  readonly claim: Stored<SandboxClaim>;
  readonly problem: ClaimProblem | undefined;
  readonly expired: boolean;
  readonly sandbox: Stored<Sandbox> | undefined;
  /** The Pod that backs the sandbox. */
  readonly pod: Stored<Pod> | undefined;
}

type ReadyFact = Omit<Fact, "type">;

/** The first that has something to say speaks for the claim. */
const speakers: readonly ((seen: Seen) => ReadyFact | undefined)[] = [
  problem,
  expired,
  withoutSandbox,
  expiredByItself,
  asleep,
  resuming,
  beingReplaced,
  asTheSandboxSays,
];

/** Whether a claim is ready, and why (not). */
export function readyFact(seen: Seen): Fact {
  for (const speak of speakers) {
    const said = speak(seen);
    if (said) return { type: "Ready", ...said };
  }
  return { type: "Ready", ...notReady };
}

export const claimExpired = {
  status: "False",
  reason: "ClaimExpired",
  message: "Claim expired. Sandbox cleanup initiated.",
} as const;

const notReady = { status: "False", reason: "SandboxNotReady", message: "Sandbox is not ready" } as const;

function problem({ problem }: Seen): ReadyFact | undefined {
  return problem && { status: "False", reason: problem.reason, message: problem.message };
}

function expired({ expired }: Seen): ReadyFact | undefined {
  return expired ? claimExpired : undefined;
}

function withoutSandbox({ sandbox }: Seen): ReadyFact | undefined {
  return sandbox ? undefined : { status: "False", reason: "SandboxMissing", message: "Sandbox does not exist" };
}

function expiredByItself(seen: Seen): ReadyFact | undefined {
  if (!isExpiredSandbox(seen)) return undefined;
  const message = "Underlying Sandbox resource has expired independently of the Claim.";
  return { status: "False", reason: "SandboxExpired", message };
}

/**
 * Whoever connects wakes a sandbox that sleeps because nobody used it, so the claim goes on being ready: a client that
 * waited for that would wait for a connection that it does not make.
 */
function asleep({ sandbox }: Seen): ReadyFact | undefined {
  if (!sandbox || readyOf(sandbox)?.reason !== "SandboxSuspended") return undefined;
  const { spec } = sandbox;
  const byItself = effectiveOperatingMode(spec) === "Suspended" && causeOf(sandbox) === "Inactivity";
  if (!byItself || effectiveAutoResume(spec).trigger === "Never") return undefined;
  return { status: "True", reason: "SandboxSuspended", message: "Sandbox sleeps and wakes on a connection" };
}

/** It was ready while it slept, and whoever has woken it waits for the Pod; what hinders that is told at once. */
function resuming(seen: Seen): ReadyFact | undefined {
  const reason = seen.sandbox && readyOf(seen.sandbox)?.reason;
  const starts = reason === "SandboxSuspended" || reason === "DependenciesNotReady";
  if (!(starts || isBeingReplaced(seen)) || !resumeOf(seen)) return undefined;
  return { status: "True", reason: resumingReason, message: "Sandbox slept and gets its Pod again" };
}

/** Clients give up a claim whose Pod has ended for good, so an end that is not for good is not told. */
function beingReplaced(seen: Seen): ReadyFact | undefined {
  return isBeingReplaced(seen) ? notReady : undefined;
}

function isBeingReplaced(seen: Seen): boolean {
  const reason = seen.sandbox && readyOf(seen.sandbox)?.reason;
  const ended = reason === "PodFailed" || reason === "PodSucceeded";
  return ended && !hasEndedForGood(seen);
}

function asTheSandboxSays({ sandbox }: Seen): ReadyFact | undefined {
  const ready = sandbox && readyOf(sandbox);
  return ready && { status: ready.status, reason: ready.reason, message: ready.message };
}

/** What the claim says of the end of its Pod: what the sandbox says, unless another Pod will come. */
export function finishedCondition(seen: Seen): Condition | undefined {
  const finished = findCondition(seen.sandbox?.status?.conditions, "Finished");
  const nothingFollows = seen.expired || isExpiredSandbox(seen) || hasEndedForGood(seen);
  return finished?.status !== "True" || nothingFollows ? finished : undefined;
}

/** A Pod that ends while it is being deleted was stopped: its sandbox gets another one, or sleeps. */
function hasEndedForGood({ sandbox, pod }: Seen): boolean {
  if (!sandbox || !pod || pod.metadata.deletionTimestamp) return false;
  return ownershipOf(pod, sandbox) === "owned" && podEnding(pod) !== undefined;
}

const readyOf = ({ status }: Sandbox): Condition | undefined => findCondition(status?.conditions, "Ready");

const isExpiredSandbox = ({ sandbox }: Seen): boolean =>
  sandbox !== undefined && readyOf(sandbox)?.reason === "SandboxExpired";
