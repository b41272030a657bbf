import { ownershipOf } from "../ownership.ts";
import { decideImages } from "../suspension/hibernation/decide-images.ts";
import { type Action, startsPod } from "./actions.ts";
import { decidePod } from "./decide-pod.ts";
import { isDeletedOnExpiry, isExpired, isMarkedExpired } from "./expiry.ts";
import { findPod, ownedPods } from "./find-pod.ts";
import type { Observed } from "./observed.ts";
import { decideService } from "./service/decide-service.ts";
import { decideVolumeClaims } from "./volumes/decide-volume-claims.ts";
import { isUnclaimedMember } from "./write-priority.ts";

/**
 * The course of one pass.
 *
 * - `children`: reconcile volume claims, Pod and Service;
 * - `markExpired`: the sandbox has expired; the status reports that before anything is deleted;
 * - `tearDown`: the status reports the expiry, and the children are deleted.
 */
export type Course = "children" | "markExpired" | "tearDown";

export interface Decision {
  readonly course: Course;
  /** In the order of execution. */
  readonly actions: readonly Action[];
  /** Milliseconds until a deferred change of the Pod's metadata is rechecked. */
  readonly putOffMs?: number;
}

/** What to do about one sandbox. */
export function decide(observed: Observed): Decision {
  const { sandbox, now } = observed;
  if (!isExpired(sandbox, now)) return decideChildren(observed);
  if (!isMarkedExpired(sandbox)) return { course: "markExpired", actions: [] };
  return { course: "tearDown", actions: tearDown(observed) };
}

function decideChildren(observed: Observed): Decision {
  const pod = decidePod(observed);
  const claims = decideVolumeClaims(observed, pod.actions.some(startsPod));
  // It is unknown which of several Pods the Service should select, so the Service stays unchanged.
  const service = findPod(observed).found === "several" ? [] : decideService(observed);
  return {
    course: "children",
    actions: [...claims, ...pod.actions, ...service, ...imagesOf(observed)],
    ...(pod.putOffMs !== undefined && { putOffMs: pod.putOffMs }),
  };
}

function imagesOf(observed: Observed): readonly Action[] {
  const { sandbox, memory } = observed;
  const found = findPod(observed);
  if (!memory || found.found === "several") return [];
  const pod = found.found === "owned" ? found.pod : undefined;
  return decideImages({ sandbox, pod, isSpare: isUnclaimedMember(sandbox), seen: memory });
}

/**
 * Objects of other owners stay, and so do the volumes. Memory goes with the Pod: the status of an expired sandbox tells of none, and what no status
 * tells of is never used.
 */
function tearDown(observed: Observed): readonly Action[] {
  const { sandbox, service, memory } = observed;
  const pods = ownedPods(observed).filter((pod) => !pod.metadata.deletionTimestamp);
  const actions: Action[] = pods.map((pod) => ({ do: "deletePod", pod, mayBeGone: true }));
  const ownService = service && ownershipOf(service, sandbox) === "owned" && !service.metadata.deletionTimestamp;
  if (ownService) actions.push({ do: "deleteService", service });
  // With the Sandbox, Kubernetes deletes what it owns.
  if (isDeletedOnExpiry(sandbox)) return [...actions, { do: "deleteSandbox" }];
  const images = memory?.images.filter(({ metadata }) => !metadata.deletionTimestamp) ?? [];
  const forgotten = images.map((image) => ({ do: "deleteImage", image }) as const);
  return forgotten.length > 0 ? [{ do: "confirmSandbox" }, ...actions, ...forgotten] : actions;
}
