import type { PodSpec } from "../../api/kinds/pod.ts";
import type { SandboxTemplateSpec } from "../../api/kinds/sandbox-template.ts";
import { effectiveNetworkPolicyManagement } from "../../api/rules/defaults.ts";

/** Public resolvers: the default network policy blocks the resolvers of the cluster. */
const publicNameservers = ["8.8.8.8", "1.1.1.1"] as const;

/**
 * The Pod spec of a template with secure defaults: no API token unless the template asks for one, and public resolvers
 * where the default network policy applies. A Sandbox that a person writes gets no such defaults.
 */
export function securePodSpec(template: SandboxTemplateSpec): PodSpec {
  const { spec } = template.podTemplate;
  return {
    ...spec,
    automountServiceAccountToken: spec.automountServiceAccountToken ?? false,
    ...(resolvesPublicly(template) && { dnsPolicy: "None", dnsConfig: { nameservers: publicNameservers } }),
  };
}

const resolvesPublicly = (template: SandboxTemplateSpec): boolean =>
  effectiveNetworkPolicyManagement(template) === "Managed" &&
  template.networkPolicy === undefined &&
  !template.podTemplate.spec.dnsPolicy;
