import type { HttpGetAction, PersistentVolumeClaimSpec, PodSpec, TemplateMeta } from "./core.ts";
import type { Condition, KubeObject, ObjectMeta } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";

export const agentsGroup = "agents.x-k8s.io";
export const extensionsGroup = "extensions.agents.x-k8s.io";

export interface PodTemplate {
  readonly metadata?: Pick<ObjectMeta, "labels" | "annotations">;
  readonly spec: PodSpec;
}

export interface VolumeClaimTemplate {
  readonly metadata?: TemplateMeta;
  readonly spec: PersistentVolumeClaimSpec;
}

/** The fields that a Sandbox and a SandboxTemplate share. */
export interface Blueprint {
  readonly podTemplate: PodTemplate;
  readonly volumeClaimTemplates?: readonly VolumeClaimTemplate[];
  /** true: required; false: deleted; absent: not created, and an existing one is kept. */
  readonly service?: boolean;
}

export type OperatingMode = "Running" | "Suspended";
export type OpenConnections = "Data" | "Count" | "Ignore";

export interface AutoSuspension {
  readonly inactivityTimeoutSeconds?: number;
  readonly openConnections?: OpenConnections;
  readonly drainTimeoutSeconds?: number;
  readonly keepAwakeUntil?: string;
  readonly busyProbe?: { readonly httpGet: HttpGetAction; readonly limitSeconds?: number };
  readonly ignoreRequests?: readonly { readonly pathPrefix?: string; readonly userAgentPrefix?: string }[];
  readonly unansweredLimitSeconds?: number;
}

export interface AutoResume {
  readonly trigger?: "Connection" | "Never";
  readonly timeoutSeconds?: number;
  readonly readiness?: "Auto" | "PodReady" | "PortOpen";
  readonly allowFrom?: "Namespace" | "Cluster" | "Any";
  readonly waitPage?: "Browser" | "Never";
}

/** What a suspension keeps beside the volumes: nothing, or memory where the node can. */
export interface SuspensionStrategy {
  readonly type?: "Stop" | "Hibernate";
  readonly onFailure?: "Stop" | "StayAwake";
  readonly timeoutSeconds?: number;
}

/** What became of the memory of a sandbox; only with `suspensionStrategy.type: Hibernate`. */
export interface Hibernation {
  /** Absent while it runs. */
  readonly state?: "Hibernated" | "Restoring" | "Stopped";
  readonly reason?: string;
  readonly message?: string;
  readonly node?: string;
  readonly bytes?: number;
  readonly capturedAt?: string;
  readonly durationMilliseconds?: number;
  readonly lastWake?: {
    readonly mode: "Restored" | "Anew";
    /** Of the Pod that asked for memory. */
    readonly podUID?: string;
    readonly reason?: string;
    readonly durationMilliseconds?: number;
  };
}

export interface SandboxSpec extends Blueprint {
  readonly shutdownTime?: string;
  readonly shutdownPolicy?: "Delete" | "Retain";
  readonly operatingMode?: OperatingMode;
  readonly autoSuspension?: AutoSuspension;
  readonly autoResume?: AutoResume;
  readonly suspensionStrategy?: SuspensionStrategy;
}

export interface SandboxStatus {
  readonly serviceFQDN?: string;
  readonly service?: string;
  readonly conditions?: readonly Condition[];
  readonly selector?: string;
  readonly podIPs?: readonly string[];
  readonly nodeName?: string;
  readonly lastActivityTime?: string;
  readonly nextSuspensionTime?: string;
  readonly hibernation?: Hibernation;
}

export interface Sandbox extends KubeObject {
  readonly spec: SandboxSpec;
  readonly status?: SandboxStatus;
}

export const sandboxType: ResourceType<Sandbox> = {
  group: agentsGroup,
  version: "v1beta1",
  kind: "Sandbox",
  plural: "sandboxes",
  namespaced: true,
};
