import type { Condition, Stored } from "../../../api/kinds/meta.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../../api/kinds/sandbox-claim.ts";
import { findCondition, withCondition, withoutCondition } from "../../../api/rules/conditions.ts";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import { semanticallyEqual } from "../../semantic-equality.ts";
import { isExpired, isMarkedExpired } from "./expiry.ts";
import {
  claimCleanupFailed,
  claimExpired,
  finishedCondition,
  type ReadyFact,
  readyFact,
  type Seen,
} from "./ready-fact.ts";

/** The status of a claim after a pass. */
export function conclude(ended: Seen): SandboxClaimStatus {
  const { claim, now, problem } = ended;
  const { status: before = {} } = claim;
  if (problem && problem.reason !== "ClaimExpired" && isMarkedExpired(claim) && isExpired(claim, now)) {
    return markedExpired({ claim, now }, claimCleanupFailed(problem));
  }
  // The name of a Sandbox that we created is known before the store shows it.
  if (problem?.reason === "SandboxCreatePending" && before.sandbox?.name) return before;
  const sandbox = boundSandbox(ended);
  const status = { conditions: conditionsOf(ended), ...(sandbox && { sandbox }) };
  // The Pod may have ended in this pass, and the claim may expire with it.
  if (problem || ended.expired || !isExpired({ spec: claim.spec, status }, now)) return status;
  return { ...status, conditions: markExpired(status.conditions, ended) };
}

/** The status of a claim before anything of it is deleted, or after that has failed: unchanged, but expired. */
export function markedExpired(
  { claim, now }: Pick<Seen, "claim" | "now">,
  fact: ReadyFact = claimExpired,
): SandboxClaimStatus {
  return { ...claim.status, conditions: markExpired(claim.status?.conditions ?? [], { claim, now }, fact) };
}

const markExpired = (
  conditions: readonly Condition[],
  at: Pick<Seen, "claim" | "now">,
  fact: ReadyFact = claimExpired,
): readonly Condition[] => sorted(withCondition(conditions, { type: "Ready", ...fact }, observationOf(at)));

/** The Sandbox that a claim has. An error that hides it does not remove it from the status. */
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
  // Copied with the sandbox's own transition time: the claim's TTL starts from there.
  return sorted([...withoutCondition(conditions, "Finished"), finished]);
}

const sorted = (conditions: readonly Condition[]): readonly Condition[] =>
  [...conditions].sort((a, b) => byCodeUnits(a.type, b.type));

const observationOf = ({ claim, now }: Pick<Seen, "claim" | "now">) => ({
  generation: claim.metadata.generation ?? 0,
  at: now,
});

/**
 * The merge patch from one status to another, with the resourceVersion that was read; undefined when nothing changed.
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
