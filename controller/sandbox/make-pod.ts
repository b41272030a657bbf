import type { Volume } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod, PodSpec } from "../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { isSystemReservedKey } from "../../api/rules/keys.ts";
import { controllerReference } from "../ownership.ts";
import { newPodMetadata } from "./pod-metadata.ts";
import { claimName } from "./volumes/make-volume-claim.ts";

/** The Pod of a sandbox: its template, with a volume for each volume claim. */
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
    spec: { ...withoutReservedGates(sandbox.spec.podTemplate.spec), ...(volumes && { volumes }) },
  };
}

/** A gate of ours is for the controller to set and remove, as are its annotations. */
function withoutReservedGates(spec: PodSpec): PodSpec {
  const { schedulingGates, ...rest } = spec;
  const kept = schedulingGates?.filter(({ name }) => !isSystemReservedKey(name));
  if (!kept || kept.length === schedulingGates?.length) return spec;
  return kept.length > 0 ? { ...rest, schedulingGates: kept } : rest;
}

/** The template's volumes, followed by the volume claims in their order; a claim replaces a volume of the same name. */
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
