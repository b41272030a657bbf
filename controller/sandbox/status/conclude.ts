import type { Condition } from "../../../api/kinds/meta.ts";
import type { SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { type Observation, type SandboxFact, withCondition, withoutCondition } from "../../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { sandboxSelector, serviceFqdn } from "../../../api/rules/names.ts";
import type { ActivityTimes } from "../../idle/times/activity-times.ts";
import { ownershipOf } from "../../ownership.ts";
import type { BlockedSuspension } from "../../suspension/handshake/blocked-suspension.ts";
import { restoreWaitOf } from "../../suspension/hibernation/restore.ts";
import type { PortShortageFact } from "../../tcp-front/port-shortages.ts";
import { type Failure, failedIn, partOf } from "../actions.ts";
import type { Course } from "../decide.ts";
import { expiryRecheckMs, isExpired } from "../expiry.ts";
import { findPod } from "../find-pod.ts";
import type { Observed } from "../observed.ts";
import { podIps } from "../pod-state.ts";
import {
  blockedFact,
  expiredFact,
  expiredInVainFact,
  finishedFact,
  podScheduledFact,
  readyFact,
  type Seen,
  type SeenPod,
  suspendedFact,
} from "./condition-facts.ts";
import { hibernationOf } from "./hibernation.ts";

export interface Ended {
  readonly course: Course;
  /** The state after the actions, with the current time. */
  readonly observed: Observed;
  readonly failures: readonly Failure[];
  readonly clusterDomain: string;
  /** The activity times of the status; absent: they stay as written. */
  readonly activityTimes?: ActivityTimes | undefined;
  /** Whether an unresponsive activator blocks its suspension; absent: not blocked. */
  readonly blockedSuspension?: BlockedSuspension | undefined;
  /** Absent: each of its ports has an activator port, or needs none. */
  readonly portShortage?: PortShortageFact | undefined;
  /** Whether actions are left for the next pass; absent: none. */
  readonly unfinished?: boolean;
}

export interface Conclusion {
  readonly status: SandboxStatus;
  /** Milliseconds until the next pass even if nothing changes. */
  readonly recheckAfterMs?: number;
}

// The next pass deletes the children; there is nothing to wait for in between.
const afterMarkingMs = 1;

/** The status of a sandbox after a pass, and when time alone will change it. */
export function conclude(ended: Ended): Conclusion {
  const { course, observed } = ended;
  if (course === "tearDown") return { status: tornDown(ended) };
  const status = course === "markExpired" ? (observed.sandbox.status ?? {}) : describeChildren(ended);
  if (isExpired(observed.sandbox, observed.now)) {
    const conditions = withoutCondition(status.conditions, "PodScheduled");
    return { status: { ...status, conditions: expired(conditions, observed) }, recheckAfterMs: afterMarkingMs };
  }
  const rechecks = [expiryRecheckMs(observed.sandbox, observed.now), restoreRecheckMs(observed)];
  const dueMs = rechecks.filter((delayMs) => delayMs !== undefined);
  return { status, ...(dueMs.length > 0 && { recheckAfterMs: Math.min(...dueMs) }) };
}

/** Until a Pod that waits for its memory is replaced. That of a sandbox that is suspended goes anyway. */
function restoreRecheckMs(observed: Observed): number | undefined {
  const seen = seePod(observed);
  if (!observed.memory || seen.is !== "owned") return undefined;
  if (effectiveOperatingMode(observed.sandbox.spec) === "Suspended") return undefined;
  const wait = restoreWaitOf(seen.pod, observed.memory.images);
  return wait && Math.max(wait.limitMs - observed.memory.waitedMs, 1);
}

/** Nothing is suspended and no port is assigned any more, so no condition may say that this is blocked. */
function expired(
  conditions: readonly Condition[],
  { sandbox, now }: Observed,
  fact: SandboxFact = expiredFact,
): readonly Condition[] {
  const ownLimits = ["AutoSuspensionBlocked", "ServicePortsAllocated"];
  const kept = ownLimits.reduce<readonly Condition[]>(withoutCondition, conditions);
  return withCondition(kept, fact, observationOf({ sandbox, now }));
}

/** An expired sandbox keeps only its conditions, once its children are being deleted. One that is being deleted itself tells no more. */
function tornDown({ observed, failures, unfinished = false }: Ended): SandboxStatus {
  const { status = {}, metadata } = observed.sandbox;
  const { conditions = [] } = status;
  if (failures.length > 0 && metadata.deletionTimestamp === undefined) {
    return { ...status, conditions: expired(conditions, observed, expiredInVainFact(failures)) };
  }
  return failures.length > 0 || unfinished ? status : { conditions: expired(conditions, observed) };
}

function describeChildren(ended: Ended): SandboxStatus {
  const { observed, clusterDomain, activityTimes, blockedSuspension } = ended;
  // A sandbox is Ready also if a MemoryImage could not be made. Its memory cannot be kept then, which is told when it sleeps.
  const failures = ended.failures.filter(({ action }) => partOf(action) !== "memory");
  const { sandbox, suspending } = observed;
  const { name, namespace = "" } = sandbox.metadata;
  const { status: before = {} } = sandbox;
  const times = activityTimes ?? before;
  const pod = seePod(observed);
  const service = seeService(observed);
  const seen: Seen = { sandbox, pod, service, failures, suspending };

  const selector = podIsThere(pod) ? sandboxSelector(name) : before.selector;
  const keepsService = pod.is === "several" || failedIn(failures, "service");
  const serviceNow =
    service === "exists" ? { service: name, serviceFQDN: serviceFqdn(name, namespace, clusterDomain) } : {};
  return withoutAbsent({
    lastActivityTime: times.lastActivityTime,
    nextSuspensionTime: times.nextSuspensionTime,
    ...(keepsService ? { service: before.service, serviceFQDN: before.serviceFQDN } : serviceNow),
    hibernation: hibernationOf({ sandbox, pod, refusal: observed.memoryRefusal, memory: observed.memory }),
    conditions: withBlockedSuspension(conditionsOf(seen, ended), blockedSuspension, observed),
    selector,
    podIPs: pod.is === "owned" ? podIps(pod.pod) : undefined,
    nodeName: pod.is === "owned" ? pod.pod.spec?.nodeName : undefined,
  });
}

const withoutAbsent = (fields: { readonly [F in keyof SandboxStatus]: SandboxStatus[F] | undefined }): SandboxStatus =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function conditionsOf(seen: Seen, { observed, portShortage }: Ended): readonly Condition[] {
  const { sandbox } = observed;
  const at = observationOf(observed);
  const finished = finishedFact(seen);
  const podScheduled = podScheduledFact(seen);
  let conditions = withCondition(sandbox.status?.conditions ?? [], suspendedFact(seen), at);
  conditions = finished ? withCondition(conditions, finished, at) : withoutCondition(conditions, "Finished");
  conditions = podScheduled
    ? withCondition(conditions, podScheduled, at)
    : withoutCondition(conditions, "PodScheduled");
  conditions = portShortage
    ? withCondition(conditions, portShortage, at)
    : withoutCondition(conditions, "ServicePortsAllocated");
  return withCondition(conditions, readyFact(seen), at);
}

function withBlockedSuspension(
  conditions: readonly Condition[],
  blockedSuspension: BlockedSuspension = { is: "no" },
  observed: Observed,
) {
  if (blockedSuspension.is === "undecided") return conditions;
  if (blockedSuspension.is === "no") return withoutCondition(conditions, "AutoSuspensionBlocked");
  const fact = blockedFact(blockedSuspension);
  return withCondition(conditions, fact, observationOf(observed));
}

function seePod(observed: Observed): SeenPod {
  const found = findPod(observed);
  if (found.found === "several") return { is: "several", count: found.count };
  if (found.found === "owned") return { is: "owned", pod: found.pod };
  // While running, a Pod of another owner is a failure, and counts as absent.
  const suspended = effectiveOperatingMode(observed.sandbox.spec) === "Suspended";
  return found.found !== "none" && suspended ? { is: "someoneElses" } : { is: "none" };
}

/** The times where nothing is suspended for inactivity any more: the last activity stays as it was last known. */
export const timesWithoutSuspension = ({ lastActivityTime }: ActivityTimes): ActivityTimes =>
  lastActivityTime === undefined ? {} : { lastActivityTime };

const podIsThere = (pod: SeenPod): boolean => pod.is === "owned" || pod.is === "someoneElses";

function seeService({ sandbox, service }: Observed): Seen["service"] {
  const owned = service !== undefined && ownershipOf(service, sandbox) === "owned";
  if (sandbox.spec.service === true) return owned ? "exists" : "missing";
  return sandbox.spec.service === false || !owned ? "unneeded" : "exists";
}

const observationOf = ({ sandbox, now }: Pick<Observed, "sandbox" | "now">): Observation => ({
  generation: sandbox.metadata.generation ?? 0,
  at: now,
});
