import type { ClaimReadyReason } from "../../api/conditions.ts";
import { isInvalid } from "../../kube/errors.ts";

/**
 * What is to be done about a claim that cannot be served.
 *
 * - `retry`: again after a backoff;
 * - `recheck`: what it names is missing; its coming wakes the claim, and we look now and then;
 * - `converge`: our own write has to come back to us first;
 * - `edit`: nothing changes before a person edits something.
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

/** Why a claim was not served, as its Ready condition says it. */
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

/** Any failure in the words of a claim. What the API server refuses as invalid it would refuse again. */
export function problemOf(cause: unknown): ClaimProblem {
  if (cause instanceof ClaimProblem) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  if (isInvalid(cause)) return new ClaimProblem("InvalidConfiguration", text, { cause });
  return new ClaimProblem("ReconcilerError", `Error seen: ${text}`, { cause });
}
