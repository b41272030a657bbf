import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import {
  createdByLabel,
  launchTypeLabel,
  templateRefAnnotation,
  templateRefHashLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { compactPatch, mapPatch } from "../../merge-patch.ts";
import type { NotedPatch } from "../claim-writes.ts";
import { claimedPodMetadata } from "../create/claimed-pod-metadata.ts";
import { podMetadataPatch } from "./adoption-patch.ts";

export type LaunchType = "warm" | "cold";

/**
 * The merge patch that updates a claimed Sandbox to the labels and annotations of its template and its claim; the rest
 * of the Pod template stays. Undefined when nothing changes.
 *
 * @throws Error when the claim asks for metadata that contradicts the template's, and that its Sandbox does not have yet.
 */
export function boundPatch(
  sandbox: Stored<Sandbox>,
  claim: Stored<SandboxClaim>,
  template: Stored<SandboxTemplate> | undefined,
  launchType: LaunchType,
): NotedPatch | undefined {
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
  const had = sandbox.spec.podTemplate.metadata;
  const podMetadata = claimedPodMetadata(template.spec.podTemplate, claim, refHash, had);
  const podMetadataChange = compactPatch(podMetadataPatch(had, podMetadata));
  return compactPatch({
    metadata: compactPatch({
      labels: mapPatch(labels, wanted),
      annotations: recordOfTemplate(sandbox, template),
    }),
    spec: podMetadataChange && { podTemplate: { metadata: podMetadataChange } },
  });
}

/**
 * A Sandbox of an older release may lack this annotation. Without it, a Sandbox that loses its claim would lose its
 * policy.
 */
const recordOfTemplate = ({ metadata }: Sandbox, { metadata: { name } }: Stored<SandboxTemplate>) =>
  metadata.annotations?.[templateRefAnnotation] ? undefined : { [templateRefAnnotation]: name };

const inMetadata = (labels: object | undefined) => labels && { metadata: { labels } };
