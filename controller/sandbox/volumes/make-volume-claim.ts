import type { PersistentVolumeClaim } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType, type VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import { volumeClaimName } from "../../../api/rules/names.ts";
import { controllerReference } from "../../ownership.ts";
import { trackingLabels } from "../pod-metadata.ts";

/** Far beyond what a node can mount. A sandbox with more gets no volume claims and no Pod: each pass would look at all of them. */
export const volumeClaimsMax = 1_000;

export const hasTooManyClaims = ({ spec }: Sandbox): boolean =>
  (spec.volumeClaimTemplates ?? []).length > volumeClaimsMax;

/** The names of its volume claims; none if there are too many. */
export const claimNames = (sandbox: Stored<Sandbox>): readonly string[] =>
  hasTooManyClaims(sandbox)
    ? []
    : (sandbox.spec.volumeClaimTemplates ?? []).map((template) => claimName(template, sandbox));

export const claimName = (template: VolumeClaimTemplate, sandbox: Stored<Sandbox>): string =>
  volumeClaimName(template.metadata?.name ?? "", sandbox.metadata.name);

/** The PersistentVolumeClaim that a sandbox makes from one of its templates. */
export function makeVolumeClaim(template: VolumeClaimTemplate, sandbox: Stored<Sandbox>): PersistentVolumeClaim {
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(template, sandbox),
      namespace: sandbox.metadata.namespace ?? "",
      labels: { ...labels, ...trackingLabels(sandbox) },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(sandboxType, sandbox)],
    },
    spec: template.spec,
  };
}
