import { controllerOf } from "../../../api/kinds/meta.ts";
import { groupOf } from "../../../api/kinds/resource-type.ts";
import { extensionsGroup, type Sandbox } from "../../../api/kinds/sandbox.ts";
import { createdByLabel, launchTypeLabel, normalizedCreator, templateRefAnnotation } from "../../../api/rules/keys.ts";
import { isDnsSubdomain } from "../../../api/rules/names.ts";
import type { TenantLabels } from "../../metrics/tenant-series.ts";

export type OwnedBy = "SandboxClaim" | "SandboxWarmPool" | "None";

/** The kind that a sandbox was created for, whatever API version its owner reference names. */
export function ownedBy(sandbox: Sandbox): OwnedBy {
  const owner = controllerOf(sandbox);
  if (!owner || groupOf(owner.apiVersion) !== extensionsGroup) return "None";
  return owner.kind === "SandboxClaim" || owner.kind === "SandboxWarmPool" ? owner.kind : "None";
}

/** A sandbox without the label counts as a cold start. */
export const launchType = ({ metadata }: Sandbox): "warm" | "cold" =>
  metadata.labels?.[launchTypeLabel] === "warm" ? "warm" : "cold";

/** A tenant's text if it is a valid object name: label values stay in memory as long as the process. */
export const nameOnly = (text: string | undefined): string | undefined =>
  text !== undefined && isDnsSubdomain(text) ? text : undefined;

/** The template that a sandbox names, if the name is valid. */
export const templateName = ({ metadata }: Sandbox): string | undefined =>
  nameOnly(metadata.annotations?.[templateRefAnnotation]);

export const creator = ({ metadata }: Sandbox): string => normalizedCreator(metadata.labels?.[createdByLabel] ?? "");

/** The tenant-chosen labels of every metric family about sandboxes. */
export function lifecycleNames(sandbox: Sandbox): TenantLabels {
  const { namespace = "" } = sandbox.metadata;
  return { namespace, named: { namespace, sandbox_template: templateName(sandbox) ?? "unknown" } };
}
