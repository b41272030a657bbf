import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { effectiveAutoResume, effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { isResumedFromInactivity, sealOf } from "../../../api/rules/suspension.ts";
import { readTime } from "../../../api/rules/timestamps.ts";

/** The reason of a ready claim while its sandbox, which was suspended for inactivity, gets its Pod again. */
export const resumingReason = "SandboxResuming";

export interface Resume {
  /** Milliseconds until the resume times out; undefined: the sandbox's status does not report the resume yet. */
  readonly leftMs: number | undefined;
}

/**
 * The resume from a suspension for inactivity during which a claim stays ready; undefined: no resume, or it has timed
 * out. It requires that the claim's status reports the suspension: if the claim's Pod has been Ready since then and is
 * not any more, that is no resume. Pure, and computed from the objects alone, so that every leader gets the same
 * result.
 */
export function resumeOf({
  claim,
  sandbox,
  now,
}: {
  readonly claim: SandboxClaim;
  readonly sandbox: Stored<Sandbox> | undefined;
  readonly now: Date;
}): Resume | undefined {
  if (!sandbox || sandbox.metadata.deletionTimestamp) return undefined;
  const { trigger, timeoutSeconds } = effectiveAutoResume(sandbox.spec);
  const runs = effectiveOperatingMode(sandbox.spec) === "Running";
  if (!runs || trigger === "Never" || !wasReadyAsleep(claim, sandbox)) return undefined;
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  // The condition is older than the resume, be it a wake or a cancelled suspension.
  if (ready?.reason === "SandboxSuspended") return { leftMs: undefined };
  if (!isResumedFromInactivity(sandbox)) return undefined;
  const leftMs = timeoutSeconds * 1_000 - Math.abs(now.getTime() - beganMs(sandbox));
  return leftMs > 0 ? { leftMs } : undefined;
}

function wasReadyAsleep({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  const before = findCondition(status?.conditions, "Ready");
  if (before?.status !== "True") return false;
  const saidSo = before.reason === "SandboxSuspended" || before.reason === resumingReason;
  // If the sandbox was woken before its Pod was gone, it was Ready again until then.
  return saidSo || sealOf(sandbox)?.cause === "Inactivity";
}

/** Since when the sandbox runs again, or, if its former Pod was still there, since when that Pod is not Ready. */
function beganMs({ status }: Sandbox): number {
  const times = ["Suspended", "Ready"].map((type) => findCondition(status?.conditions, type)?.lastTransitionTime);
  return Math.max(...times.map((time) => readTime(time)?.getTime() ?? 0));
}
