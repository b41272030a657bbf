import { effectiveNetworkPolicyManagement } from "../../api/defaults.ts";
import { templateRefHashLabel } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import type { NetworkPolicy, NetworkPolicySpec } from "../../api/network-policy.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { describeOwner, ownershipOf } from "../ownership.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { makeNetworkPolicy, networkPolicySpec } from "./make-network-policy.ts";

export interface Observed {
  readonly template: Stored<SandboxTemplate>;
  /** The NetworkPolicy of the name that the template's has, whoever controls it. */
  readonly policy: Stored<NetworkPolicy> | undefined;
}

export type Action =
  /** The label by which the template's own hash is found. */
  | { readonly do: "labelTemplate"; readonly value: string }
  | { readonly do: "createPolicy"; readonly policy: NetworkPolicy }
  | { readonly do: "replacePolicy"; readonly policy: Stored<NetworkPolicy> }
  | { readonly do: "deletePolicy"; readonly policy: Stored<NetworkPolicy> }
  /** Nothing may be done about the policy, and this is why. */
  | { readonly do: "refuse"; readonly why: string };

/** What is to be done about one template, in that order. */
export function decide(observed: Observed): readonly Action[] {
  const { template } = observed;
  const value = nameHash(template.metadata.name);
  const labelled = template.metadata.labels?.[templateRefHashLabel] === value;
  const policy = decidePolicy(observed);
  return [...(labelled ? [] : [{ do: "labelTemplate", value } as const]), ...(policy ? [policy] : [])];
}

function decidePolicy({ template, policy }: Observed): Action | undefined {
  const managed = effectiveNetworkPolicyManagement(template.spec) === "Managed";
  if (!policy) return managed ? { do: "createPolicy", policy: makeNetworkPolicy(template) } : undefined;
  const owned = ownershipOf(policy, template) === "owned";
  if (!managed) return owned && !policy.metadata.deletionTimestamp ? { do: "deletePolicy", policy } : undefined;
  if (!owned) {
    const { name } = policy.metadata;
    return {
      do: "refuse",
      why: `NetworkPolicy ${name} is controlled by ${describeOwner(policy)}: refusing to update it`,
    };
  }
  const spec = networkPolicySpec(template);
  if (semanticallyEqual(withProtocols(policy.spec), withProtocols(spec))) return undefined;
  return { do: "replacePolicy", policy: { ...policy, spec } };
}

/** With what the API server fills in, which is no drift: a port without a protocol is a TCP port. */
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
