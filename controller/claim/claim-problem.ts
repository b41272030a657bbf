import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import { type ClaimReadyReason, findCondition } from "../../api/rules/conditions.ts";
import { isInvalid } from "../../kube/client/errors.ts";

/**
 * What follows after a claim that cannot be served.
 *
 * - `retry`: requeue with backoff;
 * - `retrySlowly`: the API server rejected a request. It will most likely do so again, but its admission policies may change;
 * - `recheck`: an object that the claim names is missing; its creation enqueues the claim, and it is rechecked at an
 *   interval;
 * - `converge`: our own write has to show in the cache first;
 * - `edit`: the controller itself knows that nothing changes until a person edits an object, which enqueues the claim.
 */
export type Remedy = "retry" | "retrySlowly" | "recheck" | "converge" | "edit";

const remedies = {
  TemplateNotFound: "recheck",
  WarmPoolNotFound: "recheck",
  AdoptionConflict: "retry",
  SandboxCreatePending: "converge",
  InvalidMetadata: "edit",
  EnvVarsInjectionRejected: "edit",
  VolumeClaimTemplatesError: "edit",
  InvalidConfiguration: "retrySlowly",
  ClaimExpired: "edit",
  ReconcilerError: "retry",
} as const satisfies Partial<Record<ClaimReadyReason, Remedy>>;

/** Why a claim was not served, as its Ready condition reports it. */
export type ProblemReason = keyof typeof remedies;

export class ClaimProblem extends Error {
  override readonly name = "ClaimProblem";
  readonly reason: ProblemReason;

  constructor(reason: ProblemReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }

  get remedy(): Remedy {
    return remedies[this.reason];
  }
}

/** Whether the last pass of a claim ended with a problem. Its status may name a Sandbox all the same, which is gone. */
export function hasProblem({ status }: Pick<SandboxClaim, "status">): boolean {
  const reason = findCondition(status?.conditions, "Ready")?.reason;
  return reason !== undefined && Object.hasOwn(remedies, reason);
}

/** Any error as a claim's condition. */
export function problemOf(cause: unknown): ClaimProblem {
  if (cause instanceof ClaimProblem) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  if (isInvalid(cause)) return new ClaimProblem("InvalidConfiguration", text, { cause });
  return new ClaimProblem("ReconcilerError", `Error seen: ${text}`, { cause });
}
