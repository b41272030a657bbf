// Every label and annotation that the system writes or reads. The name of the constant says label or annotation,
// because one key is both.
import { hibernationGroup } from "../kinds/memory-image.ts";
import { agentsGroup, extensionsGroup } from "../kinds/sandbox.ts";

/** Hash of the Sandbox's name, on everything a Sandbox owns; the selector of its Service and of its status. */
export const sandboxNameHashLabel = "agents.x-k8s.io/sandbox-name-hash";
/** Hash of the pool's name, on its unclaimed members; on a Pod it means "unclaimed". */
export const warmPoolSandboxLabel = "agents.x-k8s.io/warm-pool-sandbox";
/** Hash of the template's name. */
export const templateRefHashLabel = "agents.x-k8s.io/sandbox-template-ref-hash";
/** Hash of the template's content, to detect stale members of a pool. */
export const templateHashLabel = "agents.x-k8s.io/sandbox-template-hash";
/** The predecessor of `templateHashLabel`; still written, never read. */
export const podTemplateHashLabel = "agents.x-k8s.io/sandbox-pod-template-hash";
/** `cold` or `warm`, set once, for metrics. */
export const launchTypeLabel = "agents.x-k8s.io/launch-type";
/** The client that created it; Pods have `normalizedCreator` of it. */
export const createdByLabel = "agents.x-k8s.io/created-by";
/** UID of the claim, on its Sandbox and in that Sandbox's Pod template. */
export const claimUidLabel = "agents.x-k8s.io/claim-uid";
/** `"true"` on an object without an owner allows a Sandbox to adopt it. */
export const adoptableLabel = "agents.x-k8s.io/adoptable";
/** On a claim: its Sandbox, in the form of older releases. */
export const assignedSandboxLabel = "agents.x-k8s.io/sandbox-name";

/** On a claim: its Sandbox, written before the adoption is complete. */
export const assignedSandboxAnnotation = "agents.x-k8s.io/sandbox-name";
/** On a Sandbox: the name of its Pod. */
export const podNameAnnotation = "agents.x-k8s.io/pod-name";
/** On a Sandbox: the name of its template. */
export const templateRefAnnotation = "agents.x-k8s.io/sandbox-template-ref";
/** On a Pod: the label keys from the template, sorted and joined by commas. */
export const propagatedLabelsAnnotation = "agents.x-k8s.io/propagated-labels";
/** On a Pod: the annotation keys from the template, sorted and joined by commas. */
export const propagatedAnnotationsAnnotation = "agents.x-k8s.io/propagated-annotations";
/** On a claim: the time at which the controller first saw it; RFC 3339 with nanoseconds. */
export const controllerFirstObservedAtAnnotation = "agents.x-k8s.io/controller-first-observed-at";
/** On a claim, by its client: the time of the request; RFC 3339. */
export const clientFirstRequestedAtAnnotation = "agents.x-k8s.io/client-first-requested-at";
/** On a claim, by a webhook: the time of admission; RFC 3339. */
export const webhookFirstObservedAtAnnotation = "agents.x-k8s.io/webhook-first-observed-at";
/** On a claim: the time at which it was first Ready, or `unknown`; ensures that the latency is recorded once. */
export const claimFirstReadyAtAnnotation = "agents.x-k8s.io/claim-first-ready-at";
/** On claims and Sandboxes: a JSON object of W3C trace headers. */
export const traceContextAnnotation = "opentelemetry.io/trace-context";
/** `"true"` in the Pod template of a pool member: the autoscaler may evict an unclaimed member. */
export const safeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/** On a Sandbox: the cause of its suspension for inactivity, with the generation; see `causeOf`. */
export const suspensionCauseAnnotation = "rouse.agents.x-k8s.io/suspension-cause";
/** On a Sandbox: the sealed Pod, as JSON; see `Seal`. */
export const sealedPodAnnotation = "rouse.agents.x-k8s.io/sealed-pod";
/** On a NetworkPolicy: the name of its template, once sandboxes own it beside the template. */
export const policyTemplateAnnotation = "rouse.agents.x-k8s.io/policy-of-template";
/** On such a NetworkPolicy: `"true"` once its template is gone. */
export const templateGoneAnnotation = "rouse.agents.x-k8s.io/template-gone";
/** On an EndpointSlice: the mapping of activator ports to ports of a sandbox, as JSON; see `TcpFront`. */
export const tcpFrontAnnotation = "rouse.agents.x-k8s.io/tcp-front";

/** On a Pod: the MemoryImage that it is to be restored from. The shim on the node reads it. */
export const memoryImageAnnotation = "hibernation.rouse.dev/image";
/** On such a Pod: the store that has the memory. The shim does not start the Pod without it. */
export const memoryStoreAnnotation = "hibernation.rouse.dev/store";
/** On a Pod: the controller's permission for it to be restored from that MemoryImage; see `permitBytes`. */
export const signatureAnnotation = "hibernation.rouse.dev/signature";
/** The scheduling gate of a Pod that is to be restored, until it is signed. */
export const signingGate = "hibernation.rouse.dev/signature";
/** On a Pod with that gate: it is to be deleted, and no signature that was made for it fits it any more. */
export const withdrawnAnnotation = "hibernation.rouse.dev/withdrawn";
/** On a Pod: the hash of what it runs. */
export const runHashAnnotation = "hibernation.rouse.dev/run-hash";
/** On a MemoryImage: why it is not to be used for a Pod any more, in one word. */
export const givenUpAnnotation = "hibernation.rouse.dev/given-up";
/** On a MemoryImage: the UID of the only Pod that may be restored from it. Written before that Pod can start. */
export const usedByAnnotation = "hibernation.rouse.dev/used-by";

/** On a pool created by the migration from `v1alpha1`. */
export const migrationShadowAnnotation = "agents.x-k8s.io/migration-shadow";
/** On such a pool: the template that it represents. */
export const migrationSourceTemplateAnnotation = "agents.x-k8s.io/migration-source-template";
/** On any of the four kinds: the time at which the migration rewrote it in storage. */
export const storageMigratedAtAnnotation = "agents.x-k8s.io/storage-migrated-at";
/** On `v1beta1` objects: the fields of their `v1alpha1` original, as JSON. */
export const v1alpha1StateAnnotations = {
  Sandbox: "api.agents.x-k8s.io/v1alpha1-sandbox-state",
  SandboxClaim: "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state",
  SandboxTemplate: "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state",
  SandboxWarmPool: "api.agents.x-k8s.io/v1alpha1-sandboxwarmpool-state",
} as const;
/** On a `v1alpha1` SandboxTemplate: the policy that only `v1beta1` has a field for. */
export const volumeClaimTemplatesPolicyAnnotation = "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";

const reservedPrefixes = [agentsGroup, extensionsGroup, hibernationGroup].map((group) => `${group}/`);

/** Whether a key of a Pod template is not copied to the Pod, because the system reserves it. */
export function isSystemReservedKey(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix)) || key === traceContextAnnotation;
}

const knownCreators: readonly string[] = ["go-client", "python-client", "controller"];

/** The creator in Pods, spans and metrics: a closed set, because any user may write the label of a claim. */
export function normalizedCreator(createdBy: string): string {
  return knownCreators.includes(createdBy) ? createdBy : "unknown";
}
