// The rules of networking.k8s.io/v1, as in a SandboxTemplate.
import type { KubeObject } from "./meta.ts";
import type { IntOrString } from "./pod.ts";
import type { ResourceType } from "./resource-type.ts";

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface NetworkPolicyPeer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
}

export interface NetworkPolicyPort {
  readonly port?: IntOrString;
  readonly endPort?: number;
  readonly protocol?: string;
}

export interface NetworkPolicyIngressRule {
  readonly from?: readonly NetworkPolicyPeer[];
  readonly ports?: readonly NetworkPolicyPort[];
}

export interface NetworkPolicyEgressRule {
  readonly to?: readonly NetworkPolicyPeer[];
  readonly ports?: readonly NetworkPolicyPort[];
}

export interface NetworkPolicySpec {
  readonly podSelector?: LabelSelector;
  /** The directions in which only connections matched by a rule are allowed. */
  readonly policyTypes?: readonly ("Ingress" | "Egress")[];
  readonly ingress?: readonly NetworkPolicyIngressRule[];
  readonly egress?: readonly NetworkPolicyEgressRule[];
}

export interface NetworkPolicy extends KubeObject {
  readonly spec?: NetworkPolicySpec;
}

export const networkPolicyType: ResourceType<NetworkPolicy> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};
