import { controllerOf, type OwnerReference, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy, NetworkPolicySpec } from "../../api/kinds/network-policy.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { effectiveNetworkPolicyManagement } from "../../api/rules/defaults.ts";
import { policyTemplateAnnotation, templateGoneAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { controllerReference, describeOwner, ownershipOf } from "../ownership.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { makeNetworkPolicy, networkPolicySpec, remakeNetworkPolicy } from "./make-network-policy.ts";
import { holderCounts, holdersFor, isUserReference, type PolicyUsers } from "./policy-users.ts";

/** An existing template, and its policy. */
export interface TemplateAndPolicy {
  readonly template: Stored<SandboxTemplate>;
  /** The NetworkPolicy with the name of the template's, with any controller. */
  readonly policy: Stored<NetworkPolicy> | undefined;
}

export interface Observed extends Omit<TemplateAndPolicy, "template"> {
  readonly namespace: string | undefined;
  /** The template's name, whether or not the template exists. */
  readonly name: string;
  /** Undefined if it is gone or terminates. */
  readonly template: Stored<SandboxTemplate> | undefined;
  readonly users: PolicyUsers;
  /** The spec of the template's policy that is missing now. */
  readonly lost: NetworkPolicySpec | undefined;
}

export type Action =
  /** The label by which the template's own hash is found. */
  | { readonly do: "labelTemplate"; readonly value: string }
  | { readonly do: "createPolicy"; readonly policy: NetworkPolicy }
  | { readonly do: "replacePolicy"; readonly policy: Stored<NetworkPolicy> }
  | { readonly do: "deletePolicy"; readonly policy: Stored<NetworkPolicy> }
  /** Nothing may be done about the policy, and this is why. */
  | { readonly do: "refuse"; readonly why: string };

export type PolicyAction = Exclude<Action, { readonly do: "labelTemplate" }>;

/**
 * What is to be done about one template, in that order. Its policy outlives it for as long as there are users: a running Pod
 * never loses its policy because the template was deleted.
 */
export function decide(observed: Observed): readonly Action[] {
  const { template, policy } = observed;
  if (!template) return decideWithoutTemplate(observed);
  const value = nameHash(template.metadata.name);
  const labelled = template.metadata.labels?.[templateRefHashLabel] === value;
  const action = decidePolicy({ template, policy }) ?? hold(observed, template);
  const policyAction = action && withHolders(action, observed);
  return [...(labelled ? [] : [{ do: "labelTemplate", value } as const]), ...(policyAction ? [policyAction] : [])];
}

/** The action for the policy itself, with any owners; undefined if it is as desired. */
export function decidePolicy({ template, policy }: TemplateAndPolicy): PolicyAction | undefined {
  const managed = effectiveNetworkPolicyManagement(template.spec) === "Managed";
  if (!policy) return managed ? { do: "createPolicy", policy: makeNetworkPolicy(template) } : undefined;
  const owned = ownershipOf(policy, template) === "owned";
  // What a former template of this name has left selects the same Pods, so it is this template's now.
  const inherited = !owned && isHeldFor(policy, template.metadata.name);
  if (!managed) {
    return (owned || inherited) && !policy.metadata.deletionTimestamp ? { do: "deletePolicy", policy } : undefined;
  }
  if (!owned && !inherited) return refusal(policy);
  if (owned && sameSpec(template, policy)) return undefined;
  const spec = networkPolicySpec(template);
  if (owned) return { do: "replacePolicy", policy: { ...policy, spec } };
  const references = [controllerReference(sandboxTemplateType, template), ...ofOthers(policy)];
  const ownerReferences = [...references, ...(policy.metadata.ownerReferences ?? []).filter(isUserReference)];
  const { [templateGoneAnnotation]: _, ...annotations } = policy.metadata.annotations ?? {};
  return {
    do: "replacePolicy",
    policy: { ...policy, metadata: { ...policy.metadata, annotations, ownerReferences }, spec },
  };
}

/** By template and policy, as they are in the stores: a changed one is another object. */
const compared = new WeakMap<Stored<SandboxTemplate>, WeakMap<Stored<NetworkPolicy>, boolean>>();

/** Each Pod that is to start asks this, and a policy may have tens of thousands of peers. So each pair is compared once. */
function sameSpec(template: Stored<SandboxTemplate>, policy: Stored<NetworkPolicy>): boolean {
  const withThis = compared.get(template) ?? new WeakMap<Stored<NetworkPolicy>, boolean>();
  compared.set(template, withThis);
  const known = withThis.get(policy);
  if (known !== undefined) return known;
  const same = semanticallyEqual(withProtocols(policy.spec), withProtocols(networkPolicySpec(template)));
  withThis.set(policy, same);
  return same;
}

/** Whether the answer to the write of a policy shows it. Other clients may have added owners. */
export function isWritten(policy: NetworkPolicy, answer: NetworkPolicy): boolean {
  const owners = new Set((answer.metadata.ownerReferences ?? []).map(({ uid }) => uid));
  const isOwned = (policy.metadata.ownerReferences ?? []).every(({ uid }) => owners.has(uid));
  return isOwned && semanticallyEqual(withProtocols(answer.spec), withProtocols(policy.spec));
}

/** The template exists, and users must own its policy as well. */
const hold = ({ policy }: Observed, template: Stored<SandboxTemplate>): PolicyAction | undefined =>
  policy && ownershipOf(policy, template) === "owned" && !policy.metadata.deletionTimestamp
    ? { do: "replacePolicy", policy }
    : undefined;

function decideWithoutTemplate({ namespace, name, policy, users, lost }: Observed): readonly Action[] {
  const used = users.sandboxes.length > 0 || users.pods.length > 0;
  if (!policy) {
    if (!lost || !used) return [];
    const made = remakeNetworkPolicy({ namespace, name }, lost);
    return [{ do: "createPolicy", policy: heldByUsers(made, name, users) }];
  }
  if (policy.metadata.deletionTimestamp) return [];
  const held = isHeldFor(policy, name);
  if (!held && controllerOfKind(policy, sandboxTemplateType)?.name !== name) {
    return lost && used ? [refusal(policy)] : [];
  }
  if (used)
    return isHeldEnough(policy, users) ? [] : [{ do: "replacePolicy", policy: heldByUsers(policy, name, users) }];
  // The garbage collector deletes objects with owners, and leaves orphaned ones.
  return held && !policy.metadata.ownerReferences?.length ? [{ do: "deletePolicy", policy }] : [];
}

const refusal = (policy: Stored<NetworkPolicy>): PolicyAction => ({
  do: "refuse",
  why: `NetworkPolicy ${policy.metadata.name} is controlled by ${describeOwner(policy)}: refusing to update it`,
});

/** Whether users hold it as the policy of a template of this name, present or former. */
const isHeldFor = (policy: Stored<NetworkPolicy>, name: string): boolean =>
  policy.metadata.annotations?.[policyTemplateAnnotation] === name &&
  (controllerOf(policy) === undefined || controllerOfKind(policy, sandboxTemplateType)?.name === name);

/** The references that are neither to a template nor to users: other clients wrote them. */
const ofOthers = ({ metadata }: NetworkPolicy): readonly OwnerReference[] =>
  (metadata.ownerReferences ?? []).filter((owner) => !owner.controller && !isUserReference(owner));

/** Undefined: only holders were to be written, and there are enough. */
function withHolders(action: PolicyAction, { name, users, policy: before }: Observed): PolicyAction | undefined {
  if (action.do !== "createPolicy" && action.do !== "replacePolicy") return action;
  const { ownerReferences = [], annotations } = action.policy.metadata;
  const holders = holdersFor(ownerReferences, users, holderCounts.withTemplate);
  if (!holders) return action.policy === before ? undefined : action;
  const metadata = {
    annotations: { ...annotations, [policyTemplateAnnotation]: name },
    ownerReferences: [...ownerReferences.filter((owner) => !isUserReference(owner)), ...holders],
  };
  return action.do === "createPolicy"
    ? { do: action.do, policy: { ...action.policy, metadata: { ...action.policy.metadata, ...metadata } } }
    : { do: action.do, policy: { ...action.policy, metadata: { ...action.policy.metadata, ...metadata } } };
}

/** Whether a policy without a template says so, and enough users hold it. */
const isHeldEnough = (
  { metadata: { annotations, ownerReferences = [] } }: NetworkPolicy,
  users: PolicyUsers,
): boolean =>
  annotations?.[templateGoneAnnotation] === "true" &&
  holdersFor(ownerReferences, users, holderCounts.withoutTemplate) === undefined;

/** The same policy without its template, owned by users alone. */
function heldByUsers<P extends NetworkPolicy>(policy: P, name: string, users: PolicyUsers): P {
  const ownerReferences = policy.metadata.ownerReferences ?? [];
  const holders =
    holdersFor(ownerReferences, users, holderCounts.withoutTemplate) ?? ownerReferences.filter(isUserReference);
  const annotations = {
    ...policy.metadata.annotations,
    [policyTemplateAnnotation]: name,
    [templateGoneAnnotation]: "true",
  };
  const metadata = { ...policy.metadata, annotations, ownerReferences: [...ofOthers(policy), ...holders] };
  return { ...policy, metadata };
}

/** With the defaults of the API server, which are no drift: a port without a protocol is a TCP port. */
const withProtocols = (spec: NetworkPolicySpec | undefined) => ({
  ...spec,
  ingress: spec?.ingress?.map(withRuleProtocols),
  egress: spec?.egress?.map(withRuleProtocols),
});

type Rule = NonNullable<NetworkPolicySpec["ingress"] | NetworkPolicySpec["egress"]>[number];

const withRuleProtocols = (rule: Rule) => ({
  ...rule,
  ports: rule.ports?.map((port) => ({ ...port, protocol: port.protocol || "TCP" })),
});
