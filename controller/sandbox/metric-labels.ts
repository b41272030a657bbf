import { createdByLabel, launchTypeLabel, normalizedCreator, templateRefAnnotation } from "../../api/keys.ts";
import { controllerOf } from "../../api/meta.ts";
import { groupOf } from "../../api/resource-type.ts";
import { extensionsGroup, type Sandbox } from "../../api/sandbox.ts";

export type OwnedBy = "SandboxClaim" | "SandboxWarmPool" | "None";

/** Which kind a sandbox was made for, whatever version its owner reference names. */
export function ownedBy(sandbox: Sandbox): OwnedBy {
  const owner = controllerOf(sandbox);
  if (!owner || groupOf(owner.apiVersion) !== extensionsGroup) return "None";
  return owner.kind === "SandboxClaim" || owner.kind === "SandboxWarmPool" ? owner.kind : "None";
}

/** A sandbox that does not say so was started cold. */
export const launchType = ({ metadata }: Sandbox): "warm" | "cold" =>
  metadata.labels?.[launchTypeLabel] === "warm" ? "warm" : "cold";

export const templateName = ({ metadata }: Sandbox): string | undefined =>
  metadata.annotations?.[templateRefAnnotation] || undefined;

export const creator = ({ metadata }: Sandbox): string => normalizedCreator(metadata.labels?.[createdByLabel] ?? "");

/** What every family about the life of a sandbox is labelled with. */
export const lifecycleLabels = (sandbox: Sandbox) => ({
  namespace: sandbox.metadata.namespace ?? "",
  sandbox_template: templateName(sandbox) ?? "unknown",
  owned_by: ownedBy(sandbox),
});
