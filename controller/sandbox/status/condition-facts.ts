import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { Fact, SandboxFact } from "../../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import type { BlockedSuspension } from "../../suspension/handshake/blocked-suspension.ts";
import { type Failure, failedIn } from "../actions.ts";
import { severalPods } from "../decide-pod.ts";
import { isPodReady, podEnding, podIps, podPhase } from "../pod-state.ts";

/** The result of one pass, as far as the conditions report it. */
export interface Seen {
  readonly sandbox: Sandbox;
  readonly pod: SeenPod;
  /** `unneeded`: the sandbox asks for no Service and has none. */
  readonly service: "exists" | "missing" | "unneeded";
  readonly failures: readonly Failure[];
  /** A suspension is in progress and must not be reported as complete yet. */
  readonly suspending: boolean;
}

export type SeenPod =
  | { readonly is: "none" }
  | { readonly is: "several"; readonly count: number }
  /** Used only while suspended: for a running sandbox this is a failure, and the Pod counts as absent. */
  | { readonly is: "someoneElses" }
  | { readonly is: "owned"; readonly pod: Pod };

type SuspendedFact = Extract<SandboxFact, { type: "Suspended" }>;
type FinishedFact = Extract<SandboxFact, { type: "Finished" }>;
type ReadyFact = Extract<SandboxFact, { type: "Ready" }>;

const isSuspended = ({ sandbox }: Seen): boolean => effectiveOperatingMode(sandbox.spec) === "Suspended";

export function suspendedFact(seen: Seen): SuspendedFact {
  const type = "Suspended";
  if (!isSuspended(seen)) {
    return { type, status: "False", reason: "NotSuspended", message: "Sandbox is not suspended" };
  }
  if (seen.pod.is === "owned") {
    return { type, status: "False", reason: "PodTerminating", message: "Pod is terminating. Sandbox is suspending" };
  }
  if (seen.pod.is === "someoneElses") {
    const message = "Refused to delete pod because it is not owned by this sandbox";
    return { type, status: "False", reason: "PodNotOwned", message };
  }
  if (failedIn(seen.failures, "pod") || (seen.suspending && !isSuspensionComplete(seen.sandbox))) {
    const message = "Pod state is unknown. Sandbox suspension cannot be confirmed";
    return { type, status: "Unknown", reason: "PodStateUnknown", message };
  }
  const message = "Pod has been terminated. Sandbox is suspended";
  return { type, status: "True", reason: "PodTerminated", message };
}

export function finishedFact({ pod }: Seen): FinishedFact | undefined {
  const ending = pod.is === "owned" ? podEnding(pod.pod) : undefined;
  return ending && { type: "Finished", status: "True", ...ending };
}

export function podScheduledFact({ pod, failures }: Seen): Fact | undefined {
  const type = "PodScheduled";
  const unknown = { type, status: "Unknown", reason: "PodSchedulingUnknown" } as const;
  if (pod.is === "owned") {
    const reported = pod.pod.status?.conditions?.find((condition) => condition.type === type);
    if (!reported) return { ...unknown, message: "Pod has not reported a PodScheduled condition yet" };
    // The reason of a Pod's condition may be empty; a Sandbox's condition needs a reason.
    const reason = reported.reason || (reported.status === "True" ? "PodScheduled" : "PodSchedulingUnknown");
    return { type, status: reported.status, reason, message: reported.message ?? "" };
  }
  if (pod.is === "someoneElses" || !failedIn(failures, "pod")) return undefined;
  return { ...unknown, message: "Pod state is unknown. Pod scheduling cannot be determined" };
}

export const expiredFact: ReadyFact = {
  type: "Ready",
  status: "False",
  reason: "SandboxExpired",
  message: "Sandbox has expired",
};

/** Its Pod or another child could not be deleted. */
export const expiredInVainFact = (failures: readonly Failure[]): ReadyFact => ({
  ...expiredFact,
  message: `${expiredFact.message}, and its cleanup failed: ${textOf(failures)}`,
});

/** Reported only for sandboxes with `autoSuspension.inactivityTimeoutSeconds`. */
export const blockedFact = ({
  reason,
  message,
}: Extract<BlockedSuspension, { is: "yes" }>): Extract<SandboxFact, { type: "AutoSuspensionBlocked" }> => ({
  type: "AutoSuspensionBlocked",
  status: "True",
  reason,
  message,
});

/** Rules against Ready. The first that applies decides. */
const reasonsNotToBeReady: readonly ((seen: Seen) => Omit<ReadyFact, "type" | "status"> | undefined)[] = [
  multiplePods,
  failed,
  suspended,
  ended,
];

export function readyFact(seen: Seen): ReadyFact {
  for (const objection of reasonsNotToBeReady) {
    const fact = objection(seen);
    if (fact) return { type: "Ready", status: "False", ...fact };
  }
  const pod = podPart(seen.pod);
  const message = `${pod.text}${servicePart[seen.service]}`;
  return pod.ready && seen.service !== "missing"
    ? { type: "Ready", status: "True", reason: "DependenciesReady", message }
    : { type: "Ready", status: "False", reason: "DependenciesNotReady", message };
}

function multiplePods({ pod }: Seen) {
  return pod.is === "several" ? ({ reason: "MultiplePods", message: severalPods(pod.count) } as const) : undefined;
}

const textOf = (failures: readonly Failure[]): string => failures.map(({ message }) => message).join("\n");

function failed({ failures }: Seen) {
  if (failures.length === 0) return undefined;
  const text = textOf(failures);
  // A request that the API server rejected will most likely be rejected again, so a person must act; other errors may pass.
  return failures.every(({ retry }) => retry !== "soon")
    ? ({ reason: "InvalidConfiguration", message: text } as const)
    : ({ reason: "ReconcilerError", message: `Error seen: ${text}` } as const);
}

function suspended(seen: Seen) {
  if (!isSuspended(seen)) return undefined;
  const message = seen.pod.is === "none" ? "Sandbox is suspended" : "Sandbox is suspending";
  return { reason: "SandboxSuspended", message } as const;
}

function ended({ pod }: Seen) {
  return pod.is === "owned" ? podEnding(pod.pod) : undefined;
}

function podPart(seen: SeenPod): { readonly ready: boolean; readonly text: string } {
  if (seen.is !== "owned") return { ready: false, text: "Pod does not exist" };
  const { pod } = seen;
  if (pod.metadata.deletionTimestamp) return { ready: false, text: "Pod is terminating" };
  if (podPhase(pod) !== "Running") return { ready: false, text: `Pod exists with phase: ${podPhase(pod)}` };
  if (!isPodReady(pod)) return { ready: false, text: "Pod is Running but not Ready" };
  if (podIps(pod).length === 0) return { ready: false, text: "Pod is Ready but has no podIPs yet" };
  return { ready: true, text: "Pod is Ready" };
}

const servicePart: Readonly<Record<Seen["service"], string>> = {
  exists: "; Service Exists",
  missing: "; Service does not exist",
  unneeded: "",
};
