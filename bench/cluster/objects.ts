import type { Condition, KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { type SandboxWarmPool, sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { onKwok } from "./kwok-nodes.ts";

const podSpec = { ...onKwok, containers: [{ name: "main", image: "busybox:1.36", ports: [{ containerPort: 8888 }] }] };

export const sandboxNamed = (namespace: string, name: string, spec: Partial<SandboxSpec> = {}): Sandbox => ({
  apiVersion: apiVersionOf(sandboxType),
  kind: sandboxType.kind,
  metadata: { namespace, name },
  spec: { podTemplate: { spec: podSpec }, ...spec },
});

export const templateNamed = (namespace: string, name: string): SandboxTemplate => ({
  apiVersion: apiVersionOf(sandboxTemplateType),
  kind: sandboxTemplateType.kind,
  metadata: { namespace, name },
  spec: { podTemplate: { spec: podSpec } },
});

export const poolNamed = (namespace: string, name: string, template: string, replicas: number): SandboxWarmPool => ({
  apiVersion: apiVersionOf(sandboxWarmPoolType),
  kind: sandboxWarmPoolType.kind,
  metadata: { namespace, name },
  spec: { replicas, sandboxTemplateRef: { name: template } },
});

export const claimNamed = (namespace: string, name: string, pool: string): SandboxClaim => ({
  apiVersion: apiVersionOf(sandboxClaimType),
  kind: sandboxClaimType.kind,
  metadata: { namespace, name },
  spec: { warmPoolRef: { name: pool } },
});

type Conditioned = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/** Whether a condition is True for the current generation of the object. */
export const is =
  (type: string) =>
  (object: Stored<Conditioned>): boolean =>
    object.status?.conditions?.some(
      (each) => each.type === type && each.status === "True" && each.observedGeneration === object.metadata.generation,
    ) === true;

export const isPodReady = (pod: Stored<Pod>): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
