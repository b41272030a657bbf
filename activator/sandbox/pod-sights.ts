import type { Pod } from "../../api/kinds/core.ts";
import { isUnschedulable } from "../failures/detect-failures.ts";
import { addressesOfPod } from "../pod-connections/place.ts";

/**
 * When this process first saw a Pod in some state, in monotonic milliseconds. The times in a Pod come from clocks of other
 * machines, which may be ahead of ours or behind (decision 0049).
 */
export interface PodSights {
  readonly seenMs: number;
  /** When it got the address that it has. Absent: it has none. */
  readonly addressedMs?: number;
  readonly address?: string;
  /** Absent: it is not unschedulable now. */
  readonly unschedulableMs?: number;
}

/** Looks up what was seen of a Pod that a sandbox controls. */
export interface PodSightings {
  sightsOf(podUid: string): PodSights | undefined;
}

/** What was seen of a Pod, once it was seen as it is now. */
export function sightsAfter(before: PodSights | undefined, pod: Pod, nowMs: number): PodSights {
  const [address] = addressesOfPod(pod);
  const isKnown = address !== undefined && address === before?.address;
  const addressedMs = isKnown ? before?.addressedMs : nowMs;
  const unschedulableMs = isUnschedulable(pod) ? (before?.unschedulableMs ?? nowMs) : undefined;
  return {
    seenMs: before?.seenMs ?? nowMs,
    ...(address !== undefined && addressedMs !== undefined && { address, addressedMs }),
    ...(unschedulableMs !== undefined && { unschedulableMs }),
  };
}

/** Whether the Pod has an address. */
export const hasAddress = ({ status }: Pod): boolean => Boolean(status?.podIP) || (status?.podIPs ?? []).length > 0;
