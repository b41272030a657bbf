// The meaning of absent or empty fields. Readers must not rely on the defaults of the CRD schema: an object may have
// been stored before a field existed, and another writer may have stored an empty string.
import type { HttpGetAction } from "../kinds/core.ts";
import type {
  AutoResume,
  AutoSuspension,
  OpenConnections,
  OperatingMode,
  SandboxSpec,
  SuspensionStrategy,
} from "../kinds/sandbox.ts";
import type { ClaimLifecycle, ClaimShutdownPolicy } from "../kinds/sandbox-claim.ts";
import type { InjectionPolicy, NetworkPolicyManagement, SandboxTemplateSpec } from "../kinds/sandbox-template.ts";
import type { PoolUpdateStrategy, SandboxWarmPoolSpec } from "../kinds/sandbox-warm-pool.ts";

export const autoResumeDefaults: Required<AutoResume> = {
  trigger: "Connection",
  timeoutSeconds: 120,
  readiness: "Auto",
  allowFrom: "Namespace",
  waitPage: "Browser",
};

export const autoSuspensionDefaults = {
  openConnections: "Data" satisfies OpenConnections,
  drainTimeoutSeconds: 30,
  busyProbeLimitSeconds: 3600,
  unansweredLimitSeconds: 3600,
} as const;

export const suspensionStrategyDefaults: Required<SuspensionStrategy> = {
  type: "Stop",
  onFailure: "Stop",
  timeoutSeconds: 60,
};

/** The `autoSuspension` of a sandbox with its defaults; fields stay absent only if absence has a meaning. */
export interface EffectiveAutoSuspension {
  /** Absent: it is not suspended for inactivity. */
  readonly inactivityTimeoutSeconds: number | undefined;
  readonly openConnections: OpenConnections;
  readonly drainTimeoutSeconds: number;
  readonly keepAwakeUntil: string | undefined;
  readonly busyProbe: { readonly httpGet: HttpGetAction; readonly limitSeconds: number } | undefined;
  readonly ignoreRequests: NonNullable<AutoSuspension["ignoreRequests"]>;
  /** The time in seconds after the client's last byte in which unanswered data is in flight; 0: never. */
  readonly unansweredLimitSeconds: number;
}

type AutoFields = Pick<SandboxSpec, "autoSuspension" | "autoResume">;

/** Whether a sandbox uses a field that makes its Service lead to the activators. */
export const usesAutoFields = (spec: AutoFields): boolean =>
  spec.autoSuspension !== undefined || spec.autoResume !== undefined;

export function effectiveAutoSuspension({ autoSuspension = {} }: AutoFields): EffectiveAutoSuspension {
  const { busyProbe } = autoSuspension;
  return {
    inactivityTimeoutSeconds: autoSuspension.inactivityTimeoutSeconds,
    openConnections: autoSuspension.openConnections || autoSuspensionDefaults.openConnections,
    drainTimeoutSeconds: autoSuspension.drainTimeoutSeconds ?? autoSuspensionDefaults.drainTimeoutSeconds,
    keepAwakeUntil: autoSuspension.keepAwakeUntil || undefined,
    busyProbe: busyProbe && {
      httpGet: busyProbe.httpGet,
      limitSeconds: busyProbe.limitSeconds ?? autoSuspensionDefaults.busyProbeLimitSeconds,
    },
    ignoreRequests: autoSuspension.ignoreRequests ?? [],
    unansweredLimitSeconds: autoSuspension.unansweredLimitSeconds ?? autoSuspensionDefaults.unansweredLimitSeconds,
  };
}

export function effectiveAutoResume({ autoResume = {} }: AutoFields): Required<AutoResume> {
  return {
    trigger: autoResume.trigger || autoResumeDefaults.trigger,
    timeoutSeconds: autoResume.timeoutSeconds ?? autoResumeDefaults.timeoutSeconds,
    readiness: autoResume.readiness || autoResumeDefaults.readiness,
    allowFrom: autoResume.allowFrom || autoResumeDefaults.allowFrom,
    waitPage: autoResume.waitPage || autoResumeDefaults.waitPage,
  };
}

export function effectiveSuspensionStrategy({
  suspensionStrategy = {},
}: Pick<SandboxSpec, "suspensionStrategy">): Required<SuspensionStrategy> {
  return {
    type: suspensionStrategy.type || suspensionStrategyDefaults.type,
    onFailure: suspensionStrategy.onFailure || suspensionStrategyDefaults.onFailure,
    timeoutSeconds: suspensionStrategy.timeoutSeconds ?? suspensionStrategyDefaults.timeoutSeconds,
  };
}

/** Any value but exactly `Suspended` means running. */
export const effectiveOperatingMode = ({ operatingMode }: Pick<SandboxSpec, "operatingMode">): OperatingMode =>
  operatingMode === "Suspended" ? "Suspended" : "Running";

export const effectiveShutdownPolicy = ({ shutdownPolicy }: Pick<SandboxSpec, "shutdownPolicy">): "Delete" | "Retain" =>
  shutdownPolicy || "Retain";

export const effectiveClaimShutdownPolicy = (lifecycle: ClaimLifecycle | undefined): ClaimShutdownPolicy =>
  lifecycle?.shutdownPolicy || "Retain";

export const effectiveNetworkPolicyManagement = (
  spec: Pick<SandboxTemplateSpec, "networkPolicyManagement">,
): NetworkPolicyManagement => spec.networkPolicyManagement || "Managed";

export const effectiveEnvVarsInjectionPolicy = (
  spec: Pick<SandboxTemplateSpec, "envVarsInjectionPolicy">,
): InjectionPolicy => spec.envVarsInjectionPolicy || "Disallowed";

export const effectiveVolumeClaimTemplatesPolicy = (
  spec: Pick<SandboxTemplateSpec, "volumeClaimTemplatesPolicy">,
): InjectionPolicy => spec.volumeClaimTemplatesPolicy || "Disallowed";

/** Any value but exactly `Recreate` keeps stale members until they are claimed. */
export const effectiveUpdateStrategy = ({
  updateStrategy,
}: Pick<SandboxWarmPoolSpec, "updateStrategy">): PoolUpdateStrategy =>
  updateStrategy?.type === "Recreate" ? "Recreate" : "OnReplenish";

export const effectivePoolReplicas = ({ replicas }: Pick<SandboxWarmPoolSpec, "replicas">): number => replicas ?? 1;
