import type { Volume } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { controllerReference } from "../ownership.ts";
import { claimName } from "./make-claim.ts";
import { newPodMetadata } from "./pod-metadata.ts";

/** The Pod of a sandbox: its template as it is, with a volume for each claim. */
export function makePod(sandbox: Stored<Sandbox>): Pod {
  const { name, namespace = "" } = sandbox.metadata;
  const { labels, annotations } = newPodMetadata(sandbox);
  const volumes = podVolumes(sandbox);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels,
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [controllerReference(sandboxType, sandbox)],
    },
    spec: { ...sandbox.spec.podTemplate.spec, ...(volumes && { volumes }) },
  };
}

/** The template's volumes, but a claim of the same name takes the place of one, at the end and in the claims' order. */
function podVolumes(sandbox: Stored<Sandbox>): readonly Volume[] | undefined {
  const { podTemplate, volumeClaimTemplates = [] } = sandbox.spec;
  const own = podTemplate.spec.volumes;
  if (volumeClaimTemplates.length === 0) return own;
  const claimed = volumeClaimTemplates.map(
    (template): Volume => ({
      name: template.metadata?.name ?? "",
      persistentVolumeClaim: { claimName: claimName(template, sandbox) },
    }),
  );
  const names = new Set(claimed.map(({ name }) => name));
  return [...(own ?? []).filter(({ name }) => !names.has(name)), ...claimed];
}
