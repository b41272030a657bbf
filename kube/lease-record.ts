import type { Lease } from "../api/core.ts";
import type { Stored } from "../api/meta.ts";
import { toMicroTime } from "./micro-time.ts";

/** A lease as it was seen, and when on our own monotonic clock it was first seen like that. */
export interface Sighting {
  readonly lease: Stored<Lease>;
  readonly sinceMs: number;
}

export type LeaseSpec = NonNullable<Lease["spec"]>;

/**
 * Takes note of a lease. Times in it come from another machine's clock, so they only serve to tell one renewal from
 * the next: what counts is for how long *we* have seen no change.
 */
export function sight(earlier: Sighting | undefined, lease: Stored<Lease>, nowMs: number): Sighting {
  if (earlier && earlier.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return earlier;
  return { lease, sinceMs: nowMs };
}

/** Whether nobody else has a right to lead: the lease is ours, was released, or was not renewed for its whole length. */
export function isFree({ lease, sinceMs }: Sighting, identity: string, leaseMs: number, nowMs: number): boolean {
  const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
  if (!holderIdentity || holderIdentity === identity) return true;
  return nowMs - sinceMs >= (leaseDurationSeconds ? leaseDurationSeconds * 1_000 : leaseMs);
}

/** The specification of a lease that `identity` takes over, or goes on holding. */
export function heldBy(earlier: LeaseSpec | undefined, identity: string, leaseMs: number, now: Date): LeaseSpec {
  const renewTime = toMicroTime(now);
  const ours = earlier?.holderIdentity === identity;
  const transitions = earlier?.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: leaseMs / 1_000,
    acquireTime: ours && earlier.acquireTime ? earlier.acquireTime : renewTime,
    renewTime,
    leaseTransitions: ours || !earlier ? transitions : transitions + 1,
  };
}

/** The specification of a lease that nobody holds. The API server refuses an empty holder, so there is none. */
export function released(earlier: LeaseSpec | undefined, now: Date): LeaseSpec {
  const renewTime = toMicroTime(now);
  return {
    leaseDurationSeconds: 1,
    acquireTime: renewTime,
    renewTime,
    leaseTransitions: earlier?.leaseTransitions ?? 0,
  };
}
