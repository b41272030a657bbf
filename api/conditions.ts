import type { Condition, ConditionStatus } from "./meta.ts";

/** Every reason of its own that a condition of a Sandbox can have, by its type. */
export const sandboxReasons = {
  Suspended: ["NotSuspended", "PodStateUnknown", "PodTerminated", "PodNotOwned", "PodTerminating"],
  Finished: ["PodSucceeded", "PodFailed"],
  PodScheduled: ["PodScheduled", "PodSchedulingUnknown"],
  Ready: [
    "SandboxExpired",
    "MultiplePods",
    "InvalidConfiguration",
    "ReconcilerError",
    "SandboxSuspended",
    "PodSucceeded",
    "PodFailed",
    "DependenciesReady",
    "DependenciesNotReady",
  ],
} as const;

/** Every reason of a claim's own; its Ready also passes on what the Sandbox says, and its Finished says nothing else. */
export const claimReasons = {
  Ready: [
    "TemplateNotFound",
    "WarmPoolNotFound",
    "AdoptionConflict",
    "SandboxCreatePending",
    "InvalidMetadata",
    "EnvVarsInjectionRejected",
    "ClaimExpired",
    "VolumeClaimTemplatesError",
    "ReconcilerError",
    "SandboxMissing",
    "SandboxExpired",
    "SandboxNotReady",
    "SandboxResuming",
    "InvalidConfiguration",
  ],
} as const;

export type SandboxConditionType = keyof typeof sandboxReasons;
export type ReasonOf<T extends SandboxConditionType> = (typeof sandboxReasons)[T][number];
export type ClaimReadyReason = (typeof claimReasons)["Ready"][number];

/** What is said of an object now, before it is known since when. */
export interface Fact {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** A fact in the words of the contract: `Ready` because of `PodTerminated` does not compile. */
export type SandboxFact = {
  // The reason why a Pod is scheduled or not is the scheduler's, and is passed on as it is.
  readonly [T in SandboxConditionType]: Fact & {
    readonly type: T;
    readonly reason: T extends "PodScheduled" ? string : ReasonOf<T>;
  };
}[SandboxConditionType];

export type ClaimReadyFact = Fact & { readonly type: "Ready"; readonly reason: ClaimReadyReason };

export interface Observation {
  /** `metadata.generation` of the object that the fact is about. */
  readonly generation: number;
  readonly at: Date;
}

export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export const isConditionTrue = (
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean => findCondition(conditions, type)?.status === "True";

/**
 * The conditions with `fact` in its place, or at the end when it is new. The time moves only when the status does;
 * everything else is always as it was last seen.
 */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  fact: Fact,
  { generation, at }: Observation,
): readonly Condition[] {
  const current = conditions ?? [];
  const previous = findCondition(current, fact.type);
  const lastTransitionTime = previous?.status === fact.status ? previous.lastTransitionTime : wholeSeconds(at);
  const { type, status, reason, message } = fact;
  const next: Condition = { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
  return previous ? current.map((condition) => (condition === previous ? next : condition)) : [...current, next];
}

export const withoutCondition = (conditions: readonly Condition[] | undefined, type: string): readonly Condition[] =>
  (conditions ?? []).filter((condition) => condition.type !== type);

/** A time as `metav1.Time` is written: RFC 3339 in UTC, to the second. */
export const wholeSeconds = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, "Z");
