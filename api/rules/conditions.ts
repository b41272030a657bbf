import type { Condition, ConditionStatus } from "../kinds/meta.ts";
import { conditionMessage, conditionReason, conditionStatus } from "./condition-limits.ts";
import { writable } from "./timestamps.ts";

/** Every reason of our own for a condition of a Sandbox, by its type. */
export const sandboxReasons = {
  Suspended: ["NotSuspended", "PodStateUnknown", "PodTerminated", "PodNotOwned", "PodTerminating"],
  Finished: ["PodSucceeded", "PodFailed"],
  PodScheduled: ["PodScheduled", "PodSchedulingUnknown"],
  // Present only while some ports of a sandbox behind the activators have no activator port.
  ServicePortsAllocated: ["SandboxPortLimitExceeded", "NamespacePortLimitExceeded", "PortsExhausted"],
  AutoSuspensionBlocked: ["ActivatorUnreachable", "AnnotationRejected", "MemoryNotKept"],
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

/** Every reason of our own for a claim. Its Ready also has the Sandbox's reasons, and its Finished has only those. */
const claimReasons = {
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
export type BlockedReason = ReasonOf<"AutoSuspensionBlocked">;
export type ClaimReadyReason = (typeof claimReasons)["Ready"][number];

/** A condition without the time of its last transition. */
export interface Fact {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/** A fact with a reason of the contract: `Ready` with `PodTerminated` does not compile. */
export type SandboxFact = {
  // The reason of PodScheduled is the scheduler's, unchanged.
  readonly [T in SandboxConditionType]: Fact & {
    readonly type: T;
    readonly reason: T extends "PodScheduled" ? string : ReasonOf<T>;
  };
}[SandboxConditionType];

export interface Observation {
  /** `metadata.generation` of the object when the fact was determined. */
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
 * The conditions with `fact` replaced, or appended if new. The time changes only with the status; the other fields
 * always have their latest values. All our conditions are created here, and are valid for a server, also with texts of other
 * programs in them.
 */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  fact: Fact,
  { generation, at }: Observation,
): readonly Condition[] {
  const current = conditions ?? [];
  const previous = findCondition(current, fact.type);
  const status = conditionStatus(fact.status);
  const next: Condition = {
    type: fact.type,
    status,
    reason: conditionReason(fact.reason),
    message: conditionMessage(fact.message),
    lastTransitionTime: previous?.status === status ? previous.lastTransitionTime : wholeSeconds(at),
    observedGeneration: generation,
  };
  return previous ? current.map((condition) => (condition === previous ? next : condition)) : [...current, next];
}

export const withoutCondition = (conditions: readonly Condition[] | undefined, type: string): readonly Condition[] =>
  (conditions ?? []).filter((condition) => condition.type !== type);

/** A time in the format of `metav1.Time`: RFC 3339 in UTC, to the second. */
export const wholeSeconds = (at: Date): string =>
  writable(at)
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
