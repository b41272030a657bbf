// Objects of both versions as an API server stores them, with defaults for all fields that do not matter to a test.
import type {
  SandboxClaimV1alpha1,
  SandboxTemplateV1alpha1,
  SandboxV1alpha1,
  SandboxWarmPoolV1alpha1,
} from "../../../api/conversion/v1alpha1.ts";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";

export const core = { alpha: "agents.x-k8s.io/v1alpha1", beta: "agents.x-k8s.io/v1beta1" } as const;
export const extensions = {
  alpha: "extensions.agents.x-k8s.io/v1alpha1",
  beta: "extensions.agents.x-k8s.io/v1beta1",
} as const;

const podTemplate = { spec: { containers: [{ name: "main", image: "busybox:1.36" }] } };
const named = (name: string, annotations?: ObjectMeta["annotations"]): ObjectMeta => ({
  name,
  namespace: "lab",
  uid: `uid-of-${name}`,
  ...(annotations && { annotations }),
});

type Spec<T extends { readonly spec?: object }> = Partial<NonNullable<T["spec"]>>;
type Status<T> = T extends { readonly status?: infer S } ? NonNullable<S> : never;
type Annotations = NonNullable<ObjectMeta["annotations"]>;

export const anAlphaSandbox = (
  spec: Spec<SandboxV1alpha1> = {},
  status?: Status<SandboxV1alpha1>,
  annotations?: Annotations,
): SandboxV1alpha1 => ({
  apiVersion: core.alpha,
  kind: "Sandbox",
  metadata: named("nova", annotations),
  spec: { podTemplate, ...spec },
  ...(status && { status }),
});

export const aBetaSandbox = (spec: Spec<Sandbox> = {}, status?: Status<Sandbox>): Sandbox => ({
  apiVersion: core.beta,
  kind: "Sandbox",
  metadata: named("nova"),
  spec: { podTemplate, ...spec },
  ...(status && { status }),
});

/** Of the template `my-template`. */
export const anAlphaClaim = (spec: Spec<SandboxClaimV1alpha1> = {}, sandboxName?: string): SandboxClaimV1alpha1 => ({
  apiVersion: extensions.alpha,
  kind: "SandboxClaim",
  metadata: named("my-claim"),
  spec: { sandboxTemplateRef: { name: "my-template" }, ...spec },
  ...(sandboxName !== undefined && { status: { sandbox: { name: sandboxName } } }),
});

export const aBetaClaim = (pool: string, spec: Spec<SandboxClaim> = {}): SandboxClaim => ({
  apiVersion: extensions.beta,
  kind: "SandboxClaim",
  metadata: named("my-claim"),
  spec: { warmPoolRef: { name: pool }, ...spec },
});

export const anAlphaTemplate = (annotations?: Annotations): SandboxTemplateV1alpha1 => ({
  apiVersion: extensions.alpha,
  kind: "SandboxTemplate",
  metadata: named("my-template", annotations),
  spec: { podTemplate },
});

export const aBetaTemplate = (spec: Spec<SandboxTemplate> = {}, annotations?: Annotations): SandboxTemplate => ({
  apiVersion: extensions.beta,
  kind: "SandboxTemplate",
  metadata: named("my-template", annotations),
  spec: { podTemplate, ...spec },
});

export const anAlphaPool = (spec: Spec<SandboxWarmPoolV1alpha1> = {}): SandboxWarmPoolV1alpha1 => ({
  apiVersion: extensions.alpha,
  kind: "SandboxWarmPool",
  metadata: named("my-pool"),
  spec: { replicas: 3, sandboxTemplateRef: { name: "my-template" }, ...spec },
});

export const aBetaPool = (
  spec: Spec<SandboxWarmPool> = {},
  status?: NonNullable<SandboxWarmPool["status"]>,
): SandboxWarmPool => ({
  apiVersion: extensions.beta,
  kind: "SandboxWarmPool",
  metadata: named("my-pool"),
  spec: { sandboxTemplateRef: { name: "my-template" }, ...spec },
  ...(status && { status }),
});
