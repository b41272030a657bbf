import { templateRefHashLabel } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import {
  type NetworkPolicy,
  type NetworkPolicyEgressRule,
  type NetworkPolicyIngressRule,
  type NetworkPolicySpec,
  networkPolicyType,
} from "../../api/network-policy.ts";
import { apiVersionOf } from "../../api/resource-type.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/sandbox-template.ts";
import { controllerReference } from "../ownership.ts";

export const networkPolicyName = (templateName: string): string => `${templateName}-network-policy`;

/** Only the router reaches a sandbox. Its namespace is the same wherever the controller itself is installed. */
const fromRouter: readonly NetworkPolicyIngressRule[] = [
  {
    from: [
      {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
        podSelector: { matchLabels: { app: "sandbox-router" } },
      },
    ],
  },
];

/** A sandbox reaches the public internet and nothing that is private: no neighbour, no node, no metadata service. */
const toPublicAddresses: readonly NetworkPolicyEgressRule[] = [
  {
    to: [
      {
        ipBlock: {
          cidr: "0.0.0.0/0",
          except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"],
        },
      },
      { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
    ],
  },
];

/** The policy for every Pod of a template. A direction without rules is closed, for the policy is about both. */
export function networkPolicySpec({ metadata, spec: { networkPolicy } }: SandboxTemplate): NetworkPolicySpec {
  const { ingress, egress } = networkPolicy ?? { ingress: fromRouter, egress: toPublicAddresses };
  return {
    podSelector: { matchLabels: { [templateRefHashLabel]: nameHash(metadata.name ?? "") } },
    policyTypes: ["Ingress", "Egress"],
    ...(ingress && { ingress }),
    ...(egress && { egress }),
  };
}

export function makeNetworkPolicy(template: Stored<SandboxTemplate>): NetworkPolicy {
  const { name, namespace = "" } = template.metadata;
  return {
    apiVersion: apiVersionOf(networkPolicyType),
    kind: networkPolicyType.kind,
    metadata: {
      name: networkPolicyName(name),
      namespace,
      ownerReferences: [controllerReference(sandboxTemplateType, template)],
    },
    spec: networkPolicySpec(template),
  };
}
