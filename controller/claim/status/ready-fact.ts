import type { Condition, Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { type Fact, findCondition } from "../../../api/rules/conditions.ts";
import { effectiveAutoResume } from "../../../api/rules/defaults.ts";
import { sleepsByInactivity } from "../../../api/rules/suspension.ts";
import { ownershipOf } from "../../ownership.ts";
import { podEnding } from "../../sandbox/pod-state.ts";
import type { ClaimProblem } from "../claim-problem.ts";
import { resumeOf, resumingReason } from "./resuming.ts";

/** The result of one pass, as far as the conditions of a claim report it. */
export interface Seen {
  readonly now: Date;
  /** As this pass acted on it, with its former status. */
  readonly claim: Stored<SandboxClaim>;
  readonly problem: ClaimProblem | undefined;
  readonly expired: boolean;
  readonly sandbox: Stored<Sandbox> | undefined;
  /** The Pod that backs the sandbox. */
  readonly pod: Stored<Pod> | undefined;
}

export type ReadyFact = Omit<Fact, "type">;

/** Rules for the Ready condition. The first that applies decides. */
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

/** Whether a claim is ready, and the reason. */
export function readyFact(seen: Seen): Fact {
  for (const speak of speakers) {
    const fact = speak(seen);
    if (fact) return { type: "Ready", ...fact };
  }
  return { type: "Ready", ...notReady };
}

export const claimExpired = {
  status: "False",
  reason: "ClaimExpired",
  message: "Claim expired. Sandbox cleanup initiated.",
} as const;

/** While nothing has been deleted the status has to go on to say `ClaimExpired`: only then is it tried again. */
export const claimCleanupFailed = ({ message }: ClaimProblem): ReadyFact => ({
  status: "False",
  reason: claimExpired.reason,
  message: `Claim expired. Sandbox cleanup failed. ${message}`,
});

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
 * A connection wakes a sandbox that is suspended for inactivity, so the claim stays ready: a client that waited for
 * Ready would never connect, and so never wake it.
 */
function asleep({ sandbox }: Seen): ReadyFact | undefined {
  if (!sandbox || readyOf(sandbox)?.reason !== "SandboxSuspended") return undefined;
  if (!sleepsByInactivity(sandbox) || effectiveAutoResume(sandbox.spec).trigger === "Never") return undefined;
  return {
    status: "True",
    reason: "SandboxSuspended",
    message: "Sandbox is suspended for inactivity; a connection wakes it",
  };
}

/** The claim was ready during the suspension, and its client waits for the Pod. An obstacle is reported at once. */
function resuming(seen: Seen): ReadyFact | undefined {
  const reason = seen.sandbox && readyOf(seen.sandbox)?.reason;
  const starts = reason === "SandboxSuspended" || reason === "DependenciesNotReady";
  if (!(starts || isBeingReplaced(seen)) || !resumeOf(seen)) return undefined;
  return {
    status: "True",
    reason: resumingReason,
    message: "Sandbox was suspended for inactivity and is starting again",
  };
}

/** Clients give up a claim whose Pod has ended for good, so a Pod that will be replaced is not reported as ended. */
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

/** The Finished condition of the sandbox, unless another Pod will follow. */
export function finishedCondition(seen: Seen): Condition | undefined {
  const finished = findCondition(seen.sandbox?.status?.conditions, "Finished");
  const nothingFollows = seen.expired || isExpiredSandbox(seen) || hasEndedForGood(seen);
  return finished?.status !== "True" || nothingFollows ? finished : undefined;
}

/** A Pod that ends while it is being deleted was stopped: its sandbox gets another Pod, or is suspended. */
function hasEndedForGood({ sandbox, pod }: Seen): boolean {
  if (!sandbox || !pod || pod.metadata.deletionTimestamp) return false;
  return ownershipOf(pod, sandbox) === "owned" && podEnding(pod) !== undefined;
}

const readyOf = ({ status }: Sandbox): Condition | undefined => findCondition(status?.conditions, "Ready");

const isExpiredSandbox = ({ sandbox }: Seen): boolean =>
  sandbox !== undefined && readyOf(sandbox)?.reason === "SandboxExpired";
