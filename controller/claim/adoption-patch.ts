import {
  createdByLabel,
  launchTypeLabel,
  podNameAnnotation,
  templateRefHashLabel,
  traceContextAnnotation,
} from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { autoFieldsPatch } from "../blueprint/make-sandbox.ts";
import { mapPatch } from "../merge-patch.ts";
import { controllerReference } from "../ownership.ts";
import {
  claimedPodMetadata,
  claimLabels,
  inheritedPodMetadata,
  type PodMetadata,
  poolLabels,
} from "./claimed-pod-metadata.ts";

/**
 * The merge patch that gives a warm sandbox to a claim, under the version that was seen. The pool loses it in the same
 * write; its Pod goes on running as it is.
 *
 * @throws Error when the claim's metadata contradicts the template's.
 */
export function adoptionPatch(
  sandbox: Stored<Sandbox>,
  claim: Stored<SandboxClaim>,
  template: Stored<SandboxTemplate> | undefined,
): object {
  const { name, resourceVersion, labels = {}, annotations = {} } = sandbox.metadata;
  const refHash = labels[templateRefHashLabel] ?? ""; // nothing without one is ever given to a claim
  const { podTemplate } = sandbox.spec;
  const podMetadata = template
    ? claimedPodMetadata(template.spec.podTemplate, claim, refHash)
    : inheritedPodMetadata(podTemplate, claim, refHash);
  const traceContext = claim.metadata.annotations?.[traceContextAnnotation];
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

/** What turns the metadata of one Pod template into another; null values take keys off. */
export const podMetadataPatch = (had: Partial<PodMetadata> | undefined, wanted: PodMetadata) => ({
  labels: mapPatch(had?.labels, wanted.labels),
  annotations: mapPatch(had?.annotations, wanted.annotations),
});

const without = (map: Readonly<Record<string, string>>, keys: readonly string[]) =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
