import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import {
  createdByLabel,
  launchTypeLabel,
  podNameAnnotation,
  templateRefHashLabel,
  traceContextAnnotation,
} from "../../../api/rules/keys.ts";
import { autoFieldsPatch } from "../../blueprint/make-sandbox.ts";
import { mapPatch } from "../../merge-patch.ts";
import { controllerReference } from "../../ownership.ts";
import { contextToCopy } from "../../traces.ts";
import type { NotedPatch } from "../claim-writes.ts";
import {
  claimedPodMetadata,
  claimLabels,
  inheritedPodMetadata,
  type PodMetadata,
  poolLabels,
} from "../create/claimed-pod-metadata.ts";

/**
 * The merge patch that gives a pool member to a claim, with the resourceVersion that was read. The same write removes
 * it from the pool; its Pod keeps running unchanged.
 *
 * @throws Error when the claim's metadata contradicts the template's.
 */
export function adoptionPatch(
  sandbox: Stored<Sandbox>,
  claim: Stored<SandboxClaim>,
  template: Stored<SandboxTemplate> | undefined,
): NotedPatch {
  const { name, resourceVersion, labels = {}, annotations = {} } = sandbox.metadata;
  const refHash = labels[templateRefHashLabel] ?? ""; // a sandbox without this label is never given to a claim
  const { podTemplate } = sandbox.spec;
  const podMetadata = template
    ? claimedPodMetadata(template.spec.podTemplate, claim, refHash)
    : inheritedPodMetadata(podTemplate, claim, refHash);
  const traceContext = contextToCopy(claim);
  return {
    metadata: {
      resourceVersion,
      labels: mapPatch(labels, {
        ...without(labels, [...poolLabels, createdByLabel]),
        ...claimLabels(claim),
        [launchTypeLabel]: "warm",
      }),
      annotations: mapPatch(annotations, {
        ...annotations,
        [podNameAnnotation]: name,
        ...(traceContext && { [traceContextAnnotation]: traceContext }),
      }),
      ownerReferences: [controllerReference(sandboxClaimType, claim)],
    },
    spec: {
      podTemplate: { metadata: podMetadataPatch(podTemplate.metadata, podMetadata) },
      ...(template && autoFieldsPatch(sandbox.spec, template.spec)),
    },
  };
}

/** The patch from one Pod template's metadata to another's; null values remove keys. */
export const podMetadataPatch = (had: Partial<PodMetadata> | undefined, wanted: PodMetadata) => ({
  labels: mapPatch(had?.labels, wanted.labels),
  annotations: mapPatch(had?.annotations, wanted.annotations),
});

const without = (map: Readonly<Record<string, string>>, keys: readonly string[]) =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
