import type { Condition, KubeObject, ObjectMeta } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";
import { extensionsGroup, type VolumeClaimTemplate } from "./sandbox.ts";

export type ClaimShutdownPolicy = "Delete" | "DeleteForeground" | "Retain";

export interface ClaimLifecycle {
  readonly shutdownTime?: string;
  /** Counted from the time at which the Finished condition became True. */
  readonly ttlSecondsAfterFinished?: number;
  readonly shutdownPolicy?: ClaimShutdownPolicy;
}

export interface ClaimEnvVar {
  readonly name: string;
  readonly value: string;
  /** Absent: the first container. */
  readonly containerName?: string;
}

export interface SandboxClaimSpec {
  /** A pool of the same namespace; the pool names the template. */
  readonly warmPoolRef: { readonly name: string };
  readonly lifecycle?: ClaimLifecycle;
  readonly additionalPodMetadata?: Pick<ObjectMeta, "labels" | "annotations">;
  /** Any entry means a cold start. */
  readonly env?: readonly ClaimEnvVar[];
  /** Any entry means a cold start. */
  readonly volumeClaimTemplates?: readonly VolumeClaimTemplate[];
}

export interface SandboxClaimStatus {
  readonly conditions?: readonly Condition[];
  readonly sandbox?: { readonly name?: string; readonly podIPs?: readonly string[] };
}

export interface SandboxClaim extends KubeObject {
  readonly spec: SandboxClaimSpec;
  readonly status?: SandboxClaimStatus;
}

export const sandboxClaimType: ResourceType<SandboxClaim> = {
  group: extensionsGroup,
  version: "v1beta1",
  kind: "SandboxClaim",
  plural: "sandboxclaims",
  namespaced: true,
};
