import { findCondition, withCondition, withoutCondition } from "../../api/conditions.ts";
import type { Condition, Stored } from "../../api/meta.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../api/sandbox-claim.ts";
import { byCodeUnits } from "../../lib/by-code-units.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { isExpired } from "./expiry.ts";
import { claimExpired, finishedCondition, readyFact, type Seen } from "./ready-fact.ts";

/** What the status of a claim is to say after a pass. */
export function conclude(ended: Seen): SandboxClaimStatus {
  const { claim, now, problem } = ended;
  const { status: before = {} } = claim;
  // What we made is known by name; it only does not show yet.
  if (problem?.reason === "SandboxCreatePending" && before.sandbox?.name) return before;
  const sandbox = boundSandbox(ended);
  const status = { conditions: conditionsOf(ended), ...(sandbox && { sandbox }) };
  // The Pod may have ended in this pass, and with it the claim's time.
  if (problem || ended.expired || !isExpired({ spec: claim.spec, status }, now)) return status;
  return { ...status, conditions: markExpired(status.conditions, ended) };
}

/** What the status of a claim says before anything of it is deleted: as it was, but expired. */
export function markedExpired({ claim, now }: Pick<Seen, "claim" | "now">): SandboxClaimStatus {
  return { ...claim.status, conditions: markExpired(claim.status?.conditions ?? [], { claim, now }) };
}

const markExpired = (conditions: readonly Condition[], at: Pick<Seen, "claim" | "now">): readonly Condition[] =>
  sorted(withCondition(conditions, { type: "Ready", ...claimExpired }, observationOf(at)));

/** Which Sandbox a claim has. An error that hides it takes nothing away. */
function boundSandbox({ claim, sandbox, problem }: Seen): SandboxClaimStatus["sandbox"] {
  if (sandbox) {
    const podIPs = sandbox.status?.podIPs ?? [];
    return { name: sandbox.metadata.name, ...(podIPs.length > 0 && { podIPs }) };
  }
  return problem && problem.reason !== "ClaimExpired" ? claim.status?.sandbox : undefined;
}

function conditionsOf(ended: Seen): readonly Condition[] {
  const before = ended.claim.status?.conditions ?? [];
  const conditions = withCondition(before, readyFact(ended), observationOf(ended));
  const finished = finishedCondition(ended);
  const outlivesSandbox = ended.sandbox === undefined && ended.expired;
  if (!finished) return sorted(outlivesSandbox ? conditions : withoutCondition(conditions, "Finished"));
  // Word for word, with the time of the sandbox's own: the claim's remaining time counts from there.
  return sorted([...withoutCondition(conditions, "Finished"), finished]);
}

const sorted = (conditions: readonly Condition[]): readonly Condition[] =>
  [...conditions].sort((a, b) => byCodeUnits(a.type, b.type));

const observationOf = ({ claim, now }: Pick<Seen, "claim" | "now">) => ({
  generation: claim.metadata.generation ?? 0,
  at: now,
});

/**
 * The merge patch that turns one status into another under the version that was seen; undefined when nothing has to be
 * written.
 */
export function statusPatch(claim: Stored<SandboxClaim>, after: SandboxClaimStatus): object | undefined {
  const { status: before = {}, metadata } = claim;
  const conditions = semanticallyEqual(before.conditions, after.conditions) ? undefined : (after.conditions ?? null);
  const sandbox = semanticallyEqual(before.sandbox, after.sandbox) ? undefined : sandboxChange(after);
  if (conditions === undefined && sandbox === undefined) return undefined;
  const { resourceVersion } = metadata;
  return { metadata: { resourceVersion }, status: { conditions, sandbox } };
}

const sandboxChange = ({ sandbox }: SandboxClaimStatus) =>
  sandbox ? { name: sandbox.name, podIPs: sandbox.podIPs ?? null } : null;

export const readyOf = (status: SandboxClaimStatus | undefined): Condition | undefined =>
  findCondition(status?.conditions, "Ready");
