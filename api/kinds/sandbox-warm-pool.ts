import type { KubeObject } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";
import { extensionsGroup } from "./sandbox.ts";

/** The handling of members created from an older template: replaced now, or only after they were claimed. */
export type PoolUpdateStrategy = "Recreate" | "OnReplenish";

export interface SandboxWarmPoolSpec {
  readonly replicas?: number;
  readonly sandboxTemplateRef: { readonly name: string };
  readonly updateStrategy?: { readonly type?: PoolUpdateStrategy };
}

export interface SandboxWarmPoolStatus {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly selector?: string;
  readonly observedGeneration?: number;
}

export interface SandboxWarmPool extends KubeObject {
  readonly spec: SandboxWarmPoolSpec;
  readonly status?: SandboxWarmPoolStatus;
}

export const sandboxWarmPoolType: ResourceType<SandboxWarmPool> = {
  group: extensionsGroup,
  version: "v1beta1",
  kind: "SandboxWarmPool",
  plural: "sandboxwarmpools",
  namespaced: true,
};
