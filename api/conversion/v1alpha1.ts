// The four kinds in `v1alpha1`: served for old manifests and clients, never stored. Each type has only the differences
// from `v1beta1`.
import type { KubeObject } from "../kinds/meta.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { type SandboxSpec, type SandboxStatus, sandboxType } from "../kinds/sandbox.ts";
import { type SandboxClaimSpec, type SandboxClaimStatus, sandboxClaimType } from "../kinds/sandbox-claim.ts";
import { type SandboxTemplateSpec, sandboxTemplateType } from "../kinds/sandbox-template.ts";
import {
  type SandboxWarmPoolSpec,
  type SandboxWarmPoolStatus,
  sandboxWarmPoolType,
} from "../kinds/sandbox-warm-pool.ts";

/** An object of either version as received: a client may have sent only some of its fields. */
export interface Spoken<Spec extends object, Status extends object = never> extends KubeObject {
  readonly spec?: Partial<Spec>;
  readonly status?: Status;
}

export interface SandboxSpecV1alpha1 extends Omit<SandboxSpec, "operatingMode"> {
  /** 0: suspended; 1 or absent: running. */
  readonly replicas?: number;
}

export interface SandboxStatusV1alpha1 extends Omit<SandboxStatus, "nodeName"> {
  readonly replicas?: number;
}

export interface SandboxClaimSpecV1alpha1 extends Omit<SandboxClaimSpec, "warmPoolRef" | "volumeClaimTemplates"> {
  readonly sandboxTemplateRef: { readonly name: string };
  /** `none`: never from a pool; `default`: from any pool of the template; any other value: only from that pool. */
  readonly warmpool?: string;
}

export type SandboxTemplateSpecV1alpha1 = Omit<SandboxTemplateSpec, "volumeClaimTemplatesPolicy">;

export interface SandboxWarmPoolSpecV1alpha1 extends SandboxWarmPoolSpec {
  readonly replicas: number;
}

export type SandboxV1alpha1 = Spoken<SandboxSpecV1alpha1, SandboxStatusV1alpha1>;
export type SandboxClaimV1alpha1 = Spoken<SandboxClaimSpecV1alpha1, SandboxClaimStatus>;
export type SandboxTemplateV1alpha1 = Spoken<SandboxTemplateSpecV1alpha1>;
export type SandboxWarmPoolV1alpha1 = Spoken<
  SandboxWarmPoolSpecV1alpha1,
  Omit<SandboxWarmPoolStatus, "observedGeneration">
>;

const asV1alpha1 = <T extends KubeObject>({ example: _, ...type }: ResourceType): ResourceType<T> => ({
  ...type,
  version: "v1alpha1",
});

export const sandboxV1alpha1Type = asV1alpha1<SandboxV1alpha1>(sandboxType);
export const sandboxClaimV1alpha1Type = asV1alpha1<SandboxClaimV1alpha1>(sandboxClaimType);
export const sandboxTemplateV1alpha1Type = asV1alpha1<SandboxTemplateV1alpha1>(sandboxTemplateType);
export const sandboxWarmPoolV1alpha1Type = asV1alpha1<SandboxWarmPoolV1alpha1>(sandboxWarmPoolType);
