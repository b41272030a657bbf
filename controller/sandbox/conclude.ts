import { type Observation, withCondition, withoutCondition } from "../../api/conditions.ts";
import { effectiveOperatingMode } from "../../api/defaults.ts";
import type { Condition } from "../../api/meta.ts";
import { sandboxSelector, serviceFqdn } from "../../api/names.ts";
import type { SandboxStatus } from "../../api/sandbox.ts";
import { ownershipOf } from "../ownership.ts";
import type { ActivityTimes } from "../suspension/activity-times.ts";
import { type Failure, failedIn } from "./actions.ts";
import {
  expiredFact,
  finishedFact,
  podScheduledFact,
  readyFact,
  type Seen,
  type SeenPod,
  suspendedFact,
} from "./condition-facts.ts";
import type { Course } from "./decide.ts";
import { expiryRecheckMs, isExpired } from "./expiry.ts";
import { findPod } from "./find-pod.ts";
import type { Observed } from "./observed.ts";
import { podIps } from "./pod-state.ts";

export interface Ended {
  readonly course: Course;
  /** The world after the actions, with the time as it is now. */
  readonly observed: Observed;
  readonly failures: readonly Failure[];
  readonly clusterDomain: string;
  /** What the status is to say of the sandbox's use; absent: what it says already. */
  readonly activityTimes?: ActivityTimes | undefined;
}

export interface Conclusion {
  readonly status: SandboxStatus;
  /** When to look again although nothing has changed, in milliseconds. */
  readonly recheckAfterMs?: number;
}

// The children go in the pass after the one that says so; there is nothing to wait for in between.
const afterMarkingMs = 1;

/** What the status of a sandbox is to say after a pass, and when time alone will change it. */
export function conclude(ended: Ended): Conclusion {
  const { course, observed } = ended;
  if (course === "tearDown") return { status: tornDown(ended) };
  const status = course === "markExpired" ? (observed.sandbox.status ?? {}) : describeChildren(ended);
  if (isExpired(observed.sandbox, observed.now)) {
    const conditions = withoutCondition(status.conditions, "PodScheduled");
    return { status: { ...status, conditions: expired(conditions, observed) }, recheckAfterMs: afterMarkingMs };
  }
  const recheckAfterMs = expiryRecheckMs(observed.sandbox, observed.now);
  return { status, ...(recheckAfterMs !== undefined && { recheckAfterMs }) };
}

const expired = (conditions: readonly Condition[], { sandbox, now }: Observed): readonly Condition[] =>
  withCondition(conditions, expiredFact, observationOf({ sandbox, now }));

/** Of an expired sandbox only the conditions are left, once its children are on their way. */
function tornDown({ observed, failures }: Ended): SandboxStatus {
  const { status = {} } = observed.sandbox;
  return failures.length > 0 ? status : { conditions: expired(status.conditions ?? [], observed) };
}

function describeChildren({ observed, failures, clusterDomain, activityTimes }: Ended): SandboxStatus {
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
    conditions: conditionsOf(seen, observed),
    selector,
    podIPs: pod.is === "owned" ? podIps(pod.pod) : undefined,
    nodeName: pod.is === "owned" ? pod.pod.spec?.nodeName : undefined,
  });
}

const withoutAbsent = (fields: { readonly [F in keyof SandboxStatus]: SandboxStatus[F] | undefined }): SandboxStatus =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function conditionsOf(seen: Seen, { sandbox, now }: Observed): readonly Condition[] {
  const at = observationOf({ sandbox, now });
  const finished = finishedFact(seen);
  const podScheduled = podScheduledFact(seen);
  let conditions = withCondition(sandbox.status?.conditions ?? [], suspendedFact(seen), at);
  conditions = finished ? withCondition(conditions, finished, at) : withoutCondition(conditions, "Finished");
  conditions = podScheduled
    ? withCondition(conditions, podScheduled, at)
    : withoutCondition(conditions, "PodScheduled");
  return withCondition(conditions, readyFact(seen), at);
}

function seePod(observed: Observed): SeenPod {
  const found = findPod(observed);
  if (found.found === "several") return { is: "several", count: found.count };
  if (found.found === "owned") return { is: "owned", pod: found.pod };
  // While running, a Pod of somebody else's is a failure, and as good as none.
  const suspended = effectiveOperatingMode(observed.sandbox.spec) === "Suspended";
  return found.found !== "none" && suspended ? { is: "someoneElses" } : { is: "none" };
}

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
