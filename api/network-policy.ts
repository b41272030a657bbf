// The rules of networking.k8s.io/v1, as a SandboxTemplate carries them.
import type { IntOrString } from "./core.ts";

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
