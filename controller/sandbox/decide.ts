import { ownershipOf } from "../ownership.ts";
import type { Action } from "./actions.ts";
import { decideClaims } from "./decide-claims.ts";
import { decidePod } from "./decide-pod.ts";
import { decideService } from "./decide-service.ts";
import { isDeletedOnExpiry, isExpired, isMarkedExpired } from "./expiry.ts";
import { findPod, ownedPods } from "./find-pod.ts";
import type { Observed } from "./observed.ts";

/**
 * What one pass is about.
 *
 * - `children`: bring claims, Pod and Service in line;
 * - `markExpired`: its time is over, and the status says so before anything is deleted;
 * - `tearDown`: the status has said so, and the children go.
 */
export type Course = "children" | "markExpired" | "tearDown";

export interface Decision {
  readonly course: Course;
  /** In the order in which they are to be done. */
  readonly actions: readonly Action[];
  /** A change of the Pod's metadata was put off; look again after so many milliseconds. */
  readonly putOffMs?: number;
}

/** What is to be done about one sandbox. */
export function decide(observed: Observed): Decision {
  const { sandbox, now } = observed;
  if (!isExpired(sandbox, now)) return decideChildren(observed);
  if (!isMarkedExpired(sandbox)) return { course: "markExpired", actions: [] };
  return { course: "tearDown", actions: tearDown(observed) };
}

function decideChildren(observed: Observed): Decision {
  const claims = decideClaims(observed);
  const pod = decidePod(observed);
  // Which of several Pods the Service is to lead to is not known, so it stays as it is.
  const service = findPod(observed).found === "several" ? [] : decideService(observed);
  return {
    course: "children",
    actions: [...claims, ...pod.actions, ...service],
    ...(pod.putOffMs !== undefined && { putOffMs: pod.putOffMs }),
  };
}

/** What is not the sandbox's own stays, and so do the volumes. */
function tearDown(observed: Observed): readonly Action[] {
  const { sandbox, service } = observed;
  const pods = ownedPods(observed).filter((pod) => !pod.metadata.deletionTimestamp);
  const actions: Action[] = pods.map((pod) => ({ do: "deletePod", pod, mayBeGone: true }));
  const ownService = service && ownershipOf(service, sandbox) === "owned" && !service.metadata.deletionTimestamp;
  if (ownService) actions.push({ do: "deleteService", service });
  if (isDeletedOnExpiry(sandbox)) actions.push({ do: "deleteSandbox" });
  return actions;
}
