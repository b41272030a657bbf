import { nameHash } from "../../api/names.ts";
import type { PodSpec } from "../../api/pod.ts";
import type { VolumeClaimTemplate } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { canonicalJson } from "./canonical-json.ts";
import { securePodSpec } from "./secure-defaults.ts";

/** What a sandbox made from a template now would run, and the label values that say so. */
export interface CurrentBlueprint {
  /** Of the template's name. */
  readonly refHash: string;
  /** Of everything whose change makes a warm sandbox stale, and of nothing else. */
  readonly blueprintHash: string;
  /** Of the Pod template as it is written, labels and annotations included; only older releases read it. */
  readonly podTemplateHash: string;
  /** With the secure defaults. */
  readonly podSpec: PodSpec;
  readonly volumeClaimTemplates: readonly VolumeClaimTemplate[];
  readonly service: boolean | undefined;
}

/**
 * The blueprint of a template as it is now. Labels and annotations of Pods and claims are not in its hash, nor are
 * `autoSuspension` and `autoResume`: all of them reach a sandbox without a new Pod.
 */
export function currentBlueprint({ metadata, spec }: SandboxTemplate): CurrentBlueprint {
  const podSpec = securePodSpec(spec);
  const { volumeClaimTemplates = [], service } = spec;
  const claims = volumeClaimTemplates.map(claimIdentity);
  return {
    refHash: nameHash(metadata.name ?? ""),
    blueprintHash: nameHash(canonicalJson({ podSpec, claims, service })),
    podTemplateHash: nameHash(canonicalJson(spec.podTemplate)),
    podSpec,
    volumeClaimTemplates,
    service,
  };
}

/** The part of a claim template that makes one volume differ from another. */
export const claimIdentity = ({ metadata, spec }: VolumeClaimTemplate) => ({ name: metadata?.name ?? "", spec });
