import type { ClaimReadyReason } from "../../api/rules/conditions.ts";
import { isInvalid } from "../../kube/client/errors.ts";

/**
 * What follows after a claim that cannot be served.
 *
 * - `retry`: requeue with backoff;
 * - `recheck`: an object that the claim names is missing; its creation enqueues the claim, and it is rechecked at an
 *   interval;
 * - `converge`: our own write has to show in the cache first;
 * - `edit`: nothing changes until a person edits an object.
 */
export type Remedy = "retry" | "recheck" | "converge" | "edit";

const remedies = {
  TemplateNotFound: "recheck",
  WarmPoolNotFound: "recheck",
  AdoptionConflict: "retry",
  SandboxCreatePending: "converge",
  InvalidMetadata: "edit",
  EnvVarsInjectionRejected: "edit",
  VolumeClaimTemplatesError: "edit",
  InvalidConfiguration: "edit",
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

/** Any error as a claim's condition. A request that the API server rejects as invalid would be rejected again. */
export function problemOf(cause: unknown): ClaimProblem {
  if (cause instanceof ClaimProblem) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  if (isInvalid(cause)) return new ClaimProblem("InvalidConfiguration", text, { cause });
  return new ClaimProblem("ReconcilerError", `Error seen: ${text}`, { cause });
}
