import type { KubeObject } from "./meta.ts";
import type { NetworkPolicyEgressRule, NetworkPolicyIngressRule } from "./network-policy.ts";
import type { ResourceType } from "./resource-type.ts";
import {
  type AutoResume,
  type AutoSuspension,
  type Blueprint,
  extensionsGroup,
  type SuspensionStrategy,
} from "./sandbox.ts";

export const injectionPolicies = ["Disallowed", "Allowed", "Overrides"] as const;

/** Whether a claim may set something that its template also sets: no, only additions, or replacements too. */
export type InjectionPolicy = (typeof injectionPolicies)[number];

export type NetworkPolicyManagement = "Managed" | "Unmanaged";

export interface SandboxTemplateSpec extends Blueprint {
  /** Its presence, even when empty, replaces the built-in rules. */
  readonly networkPolicy?: {
    readonly ingress?: readonly NetworkPolicyIngressRule[];
    readonly egress?: readonly NetworkPolicyEgressRule[];
  };
  readonly networkPolicyManagement?: NetworkPolicyManagement;
  readonly envVarsInjectionPolicy?: InjectionPolicy;
  readonly volumeClaimTemplatesPolicy?: InjectionPolicy;
  readonly autoSuspension?: AutoSuspension;
  readonly autoResume?: AutoResume;
  readonly suspensionStrategy?: SuspensionStrategy;
}

/** It has no status: every update changes its spec or metadata. */
export interface SandboxTemplate extends KubeObject {
  readonly spec: SandboxTemplateSpec;
}

export const sandboxTemplateType: ResourceType<SandboxTemplate> = {
  group: extensionsGroup,
  version: "v1beta1",
  kind: "SandboxTemplate",
  plural: "sandboxtemplates",
  namespaced: true,
};
