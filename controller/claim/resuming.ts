import { findCondition } from "../../api/conditions.ts";
import { effectiveAutoResume, effectiveOperatingMode } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import { isResumedFromInactivity, sealOf } from "../../api/suspension.ts";

/** What a claim gives as its reason while its sandbox, which slept by itself, gets its Pod again. */
export const resumingReason = "SandboxResuming";

export interface Resume {
  /** After how many milliseconds it has failed; undefined: its sandbox has not noticed yet that it is to run. */
  readonly leftMs: number | undefined;
}

/**
 * The resume from a suspension by inactivity that a claim stays ready through; undefined: none, or none that is in time.
 * It begins with a claim that says of itself that its sandbox sleeps, so one whose Pod was Ready since then, and is no
 * more, is no resume. Pure, and from what is written on the objects alone, so that every leader comes to the same.
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
  // What it says is older than that it runs, be it for a wake or because its suspension was called off.
  if (ready?.reason === "SandboxSuspended") return { leftMs: undefined };
  if (!isResumedFromInactivity(sandbox)) return undefined;
  const leftMs = timeoutSeconds * 1_000 - Math.abs(now.getTime() - beganMs(sandbox));
  return leftMs > 0 ? { leftMs } : undefined;
}

function wasReadyAsleep({ status }: SandboxClaim, sandbox: Sandbox): boolean {
  const before = findCondition(status?.conditions, "Ready");
  if (before?.status !== "True") return false;
  const saidSo = before.reason === "SandboxSuspended" || before.reason === resumingReason;
  // Woken before its Pod was gone, the sandbox was ready once more until then.
  return saidSo || sealOf(sandbox)?.cause === "Inactivity";
}

/** Since when it runs again, or, if its former Pod was not gone by then, since when that one is not Ready. */
function beganMs({ status }: Sandbox): number {
  const times = ["Suspended", "Ready"].map((type) => findCondition(status?.conditions, type)?.lastTransitionTime ?? 0);
  return Math.max(...times.map((time) => new Date(time).getTime()));
}
