import { controllerOf, type KubeObject, keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { policyTemplateAnnotation } from "../../api/rules/keys.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import type { View } from "../own-writes.ts";
import { decidePolicy } from "./decide.ts";
import { networkPolicyName, policySuffix } from "./make-network-policy.ts";

/**
 * Why no Pod of a template may be created yet: its NetworkPolicy does not exist, differs from the template, or has another
 * owner. Undefined where it is in place, or where the template manages none.
 */
export function policyGap(
  template: Stored<SandboxTemplate>,
  policies: Pick<View<NetworkPolicy>, "get">,
): string | undefined {
  const { namespace, name } = template.metadata;
  const policyName = networkPolicyName(name);
  const action = decidePolicy({ template, policy: policies.get(keyFor(namespace, policyName)) });
  if (!action || action.do === "deletePolicy") return undefined;
  const why = action.do === "refuse" ? action.why : `NetworkPolicy "${policyName}" is not written yet`;
  return `no sandbox is made from SandboxTemplate "${name}" while its Pods have no network policy: ${why}`;
}

/** The key of the template of this policy, whether or not the template exists; undefined for policies of others. */
export function templateKeyOf(policy: Stored<KubeObject>): string | undefined {
  const { namespace, annotations } = policy.metadata;
  const controller = controllerOf(policy);
  const ofTemplate = controllerOfKind(policy, sandboxTemplateType);
  const name = controller ? ofTemplate?.name : annotations?.[policyTemplateAnnotation];
  return name && networkPolicyName(name) === policy.metadata.name ? keyFor(namespace, name) : undefined;
}

/** The templates that a policy may concern: the one whose it is, and the one in whose policy's way it may have stood by its name. */
export function templateKeys(policy: Stored<KubeObject>): readonly string[] {
  const { namespace, name } = policy.metadata;
  const namesake = name.endsWith(policySuffix) ? name.slice(0, -policySuffix.length) : "";
  const keys = [templateKeyOf(policy), namesake === "" ? undefined : keyFor(namespace, namesake)];
  return [...new Set(keys.filter((key) => key !== undefined))];
}
