import type { Lease } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { toMicroTime } from "../micro-time.ts";

/** An observed lease, and the time on our own monotonic clock at which it was first observed in this state. */
export interface LeaseObservation {
  readonly lease: Stored<Lease>;
  readonly sinceMs: number;
}

export type LeaseSpec = NonNullable<Lease["spec"]>;

/**
 * Records an observation of a lease. Its times are from another machine's clock, so they only distinguish renewals: the
 * time without a change is measured on our clock.
 */
export function observe(earlier: LeaseObservation | undefined, lease: Stored<Lease>, nowMs: number): LeaseObservation {
  if (earlier && earlier.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return earlier;
  return { lease, sinceMs: nowMs };
}

/** Whether this candidate may take the lease: it is ours, was released, or was not renewed for its whole length. */
export function isFree(
  { lease, sinceMs }: LeaseObservation,
  identity: string,
  leaseMs: number,
  nowMs: number,
): boolean {
  const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
  if (!holderIdentity || holderIdentity === identity) return true;
  return nowMs - sinceMs >= (leaseDurationSeconds ? leaseDurationSeconds * 1_000 : leaseMs);
}

/** The spec of a lease that `identity` acquires or keeps. */
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

/** The spec of a released lease. The API server rejects an empty holder, so the field is absent. */
export function released(earlier: LeaseSpec | undefined, now: Date): LeaseSpec {
  const renewTime = toMicroTime(now);
  return {
    leaseDurationSeconds: 1,
    acquireTime: renewTime,
    renewTime,
    leaseTransitions: earlier?.leaseTransitions ?? 0,
  };
}
