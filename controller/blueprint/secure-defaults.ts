import { effectiveNetworkPolicyManagement } from "../../api/defaults.ts";
import type { PodSpec } from "../../api/pod.ts";
import type { SandboxTemplateSpec } from "../../api/sandbox-template.ts";

/** Public resolvers: those of the cluster are out of reach behind the built-in network policy. */
const publicNameservers = ["8.8.8.8", "1.1.1.1"] as const;

/**
 * The Pod that a template means: no API token unless it asks for one, and names resolved where its network policy lets
 * it reach. A Sandbox that a person writes gets none of this.
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
