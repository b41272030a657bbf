import { createdByLabel, launchTypeLabel, templateRefHashLabel } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { compactPatch, mapPatch } from "../merge-patch.ts";
import { podMetadataPatch } from "./adoption-patch.ts";
import { claimedPodMetadata } from "./claimed-pod-metadata.ts";

export type LaunchType = "warm" | "cold";

/**
 * The merge patch that lets a claimed Sandbox follow the labels and annotations of its template and its claim; what its
 * Pod runs stays as it was. Undefined when there is nothing to change.
 *
 * @throws Error when the claim's metadata contradicts the template's.
 */
export function boundPatch(
  sandbox: Stored<Sandbox>,
  claim: Stored<SandboxClaim>,
  template: Stored<SandboxTemplate> | undefined,
  launchType: LaunchType,
): object | undefined {
  const { labels = {} } = sandbox.metadata;
  const launched = { [launchTypeLabel]: labels[launchTypeLabel] ?? launchType };
  if (!template) return inMetadata(mapPatch(labels, { ...labels, ...launched }));
  const refHash = nameHash(template.metadata.name);
  const { [createdByLabel]: _, ...others } = labels;
  const createdBy = claim.metadata.labels?.[createdByLabel];
  const wanted = {
    ...others,
    ...launched,
    [templateRefHashLabel]: refHash,
    ...(createdBy && { [createdByLabel]: createdBy }),
  };
  const podMetadata = claimedPodMetadata(template.spec.podTemplate, claim, refHash);
  const podMetadataChange = compactPatch(podMetadataPatch(sandbox.spec.podTemplate.metadata, podMetadata));
  return compactPatch({
    ...inMetadata(mapPatch(labels, wanted)),
    spec: podMetadataChange && { podTemplate: { metadata: podMetadataChange } },
  });
}

const inMetadata = (labels: object | undefined) => labels && { metadata: { labels } };
