// Every label and annotation that the system writes or reads, by its name in the contract. Whether it is a label or an
// annotation is in the name of the constant, for one key is both.
import { agentsGroup, extensionsGroup } from "./sandbox.ts";

/** Hash of the Sandbox's name, on everything a Sandbox owns; the selector of its Service and of its status. */
export const sandboxNameHashLabel = "agents.x-k8s.io/sandbox-name-hash";
/** Hash of the pool's name, on its members while nobody has claimed them; on a Pod it means "unclaimed". */
export const warmPoolSandboxLabel = "agents.x-k8s.io/warm-pool-sandbox";
/** Hash of the template's name. */
export const templateRefHashLabel = "agents.x-k8s.io/sandbox-template-ref-hash";
/** Hash of the template's content, to tell stale members of a pool. */
export const templateHashLabel = "agents.x-k8s.io/sandbox-template-hash";
/** The predecessor of `templateHashLabel`; still written, never needed. */
export const podTemplateHashLabel = "agents.x-k8s.io/sandbox-pod-template-hash";
/** `cold` or `warm`, set once, for metrics. */
export const launchTypeLabel = "agents.x-k8s.io/launch-type";
/** Which client asked for it; Pods carry `normalizedCreator` of it. */
export const createdByLabel = "agents.x-k8s.io/created-by";
/** UID of the claim, on its Sandbox and in that Sandbox's Pod template. */
export const claimUidLabel = "agents.x-k8s.io/claim-uid";
/** `"true"` on an object without an owner allows a Sandbox to adopt it. */
export const adoptableLabel = "agents.x-k8s.io/adoptable";
/** On a claim: which Sandbox it was given, as older releases wrote it down. */
export const assignedSandboxLabel = "agents.x-k8s.io/sandbox-name";

/** On a claim: which Sandbox it was given, written before the adoption is complete. */
export const assignedSandboxAnnotation = "agents.x-k8s.io/sandbox-name";
/** On a Sandbox: the name of its Pod. */
export const podNameAnnotation = "agents.x-k8s.io/pod-name";
/** On a Sandbox: the name of its template. */
export const templateRefAnnotation = "agents.x-k8s.io/sandbox-template-ref";
/** On a Pod: which label keys came from the template, sorted and joined by commas. */
export const propagatedLabelsAnnotation = "agents.x-k8s.io/propagated-labels";
/** On a Pod: which annotation keys came from the template, sorted and joined by commas. */
export const propagatedAnnotationsAnnotation = "agents.x-k8s.io/propagated-annotations";
/** On a claim: when the controller first saw it; RFC 3339 with nanoseconds. */
export const controllerFirstObservedAtAnnotation = "agents.x-k8s.io/controller-first-observed-at";
/** On a claim, by its client: when it was asked for; RFC 3339. */
export const clientFirstRequestedAtAnnotation = "agents.x-k8s.io/client-first-requested-at";
/** On a claim, by a webhook: when it was admitted; RFC 3339. */
export const webhookFirstObservedAtAnnotation = "agents.x-k8s.io/webhook-first-observed-at";
/** On a claim: when it was first Ready, or `unknown`; guards "record the latency once". */
export const claimFirstReadyAtAnnotation = "agents.x-k8s.io/claim-first-ready-at";
/** Reserved by the contract; nobody writes it. */
export const creationLatencyRecordedAnnotation = "agents.x-k8s.io/creation-latency-recorded";
/** On claims and Sandboxes: a JSON object of W3C trace headers. */
export const traceContextAnnotation = "opentelemetry.io/trace-context";
/** `"true"` in the Pod template of a pool's member: the autoscaler may evict a spare. */
export const safeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/** On a Sandbox: that it was suspended by inactivity, and by which generation; see `causeOf`. */
export const suspensionCauseAnnotation = "rouse.agents.x-k8s.io/suspension-cause";
/** On a Sandbox: which Pod is doomed, as JSON; see `Seal`. */
export const sealedPodAnnotation = "rouse.agents.x-k8s.io/sealed-pod";
/** On an EndpointSlice: which ports of the activators stand for which of a sandbox, as JSON; see `TcpFront`. */
export const tcpFrontAnnotation = "rouse.agents.x-k8s.io/tcp-front";

/** On a pool that the migration from `v1alpha1` made. */
export const migrationShadowAnnotation = "agents.x-k8s.io/migration-shadow";
/** On such a pool: the template that it stands for. */
export const migrationSourceTemplateAnnotation = "agents.x-k8s.io/migration-source-template";
/** On any of the four kinds: when the migration rewrote it in storage. */
export const storageMigratedAtAnnotation = "agents.x-k8s.io/storage-migrated-at";
/** On `v1beta1` objects: the `v1alpha1` object that they were converted from, as JSON. */
export const v1alpha1StateAnnotations = {
  Sandbox: "api.agents.x-k8s.io/v1alpha1-sandbox-state",
  SandboxClaim: "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state",
  SandboxTemplate: "api.agents.x-k8s.io/v1alpha1-sandboxtemplate-state",
  SandboxWarmPool: "api.agents.x-k8s.io/v1alpha1-sandboxwarmpool-state",
} as const;
/** On a `v1alpha1` SandboxTemplate: the policy that only `v1beta1` has a field for. */
export const volumeClaimTemplatesPolicyAnnotation = "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";

/** Whether a key of a Pod template is kept from the Pod: the system writes such keys itself or not at all. */
export function isSystemReservedKey(key: string): boolean {
  return key.startsWith(`${agentsGroup}/`) || key.startsWith(`${extensionsGroup}/`) || key === traceContextAnnotation;
}

const knownCreators: readonly string[] = ["go-client", "python-client", "controller"];

/** What a Pod, a span or a metric says of its creator: a closed set, for anybody may write the label of a claim. */
export function normalizedCreator(createdBy: string): string {
  return knownCreators.includes(createdBy) ? createdBy : "unknown";
}
