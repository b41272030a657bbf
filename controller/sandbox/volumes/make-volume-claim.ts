import type { PersistentVolumeClaim } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType, type VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import { volumeClaimName } from "../../../api/rules/names.ts";
import { controllerReference } from "../../ownership.ts";
import { trackingLabels } from "../pod-metadata.ts";

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
