import type { Pod } from "../../api/kinds/core.ts";
import { isUnschedulable } from "../failures/detect-failure.ts";

/**
 * When this process first saw a Pod in some state, in monotonic milliseconds. The times in a Pod come from clocks of other
 * machines, which may be ahead of ours or behind (decision 0049).
 */
export interface PodSights {
  readonly seenMs: number;
  /** Absent: it has had no address yet. */
  readonly addressedMs?: number;
  /** Absent: it is not unschedulable now. */
  readonly unschedulableMs?: number;
}

/** Looks up what was seen of a Pod that a sandbox controls. */
export interface PodSightings {
  sightsOf(podUid: string): PodSights | undefined;
}

/** What was seen of a Pod, once it was seen as it is now. */
export function sightsAfter(before: PodSights | undefined, pod: Pod, nowMs: number): PodSights {
  const addressedMs = before?.addressedMs ?? (hasAddress(pod) ? nowMs : undefined);
  const unschedulableMs = isUnschedulable(pod) ? (before?.unschedulableMs ?? nowMs) : undefined;
  return {
    seenMs: before?.seenMs ?? nowMs,
    ...(addressedMs !== undefined && { addressedMs }),
    ...(unschedulableMs !== undefined && { unschedulableMs }),
  };
}

/** Whether the Pod has an address. */
export const hasAddress = ({ status }: Pod): boolean => Boolean(status?.podIP) || (status?.podIPs ?? []).length > 0;
