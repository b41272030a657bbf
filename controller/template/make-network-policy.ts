import type { Stored } from "../../api/kinds/meta.ts";
import {
  type NetworkPolicy,
  type NetworkPolicyEgressRule,
  type NetworkPolicyIngressRule,
  type NetworkPolicySpec,
  networkPolicyType,
} from "../../api/kinds/network-policy.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controllerReference } from "../ownership.ts";

const nameMax = 253; // RFC 1123, as API servers check it
export const policySuffix = "-network-policy";

/**
 * The policy of a template is called after it, as in the ecosystem. Where that would be longer than a name may be, the template's
 * name is cut and its hash added: without its policy a Pod of the template would be open to all traffic.
 */
export function networkPolicyName(templateName: string): string {
  if (templateName.length + policySuffix.length <= nameMax) return templateName + policySuffix;
  const hash = `-${nameHash(templateName)}`;
  const kept = templateName.slice(0, nameMax - policySuffix.length - hash.length).replace(/[-.]+$/, "");
  return kept + hash + policySuffix;
}

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

/**
 * As in the existing controller: a sandbox reaches no address of the private ranges, nor link-local ones such as the metadata service of a
 * cloud. Pods, nodes and services with other addresses (public ones, or those of 100.64.0.0/10) are open to it. There a template needs
 * rules of its own.
 */
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

/** The policy of a template that is gone, as it was. Its owners are the users that are left. */
export function remakeNetworkPolicy(
  template: { readonly namespace: string | undefined; readonly name: string },
  spec: NetworkPolicySpec,
): NetworkPolicy {
  return {
    apiVersion: apiVersionOf(networkPolicyType),
    kind: networkPolicyType.kind,
    metadata: { name: networkPolicyName(template.name), namespace: template.namespace ?? "" },
    spec,
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
