import type { PodSpec } from "../../api/kinds/pod.ts";
import type { VolumeClaimTemplate } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { nameHash } from "../../api/rules/names.ts";
import { canonicalJson } from "./canonical-json.ts";
import { securePodSpec } from "./secure-defaults.ts";

/** What a new sandbox of a template runs now, and the label values that identify it. */
export interface CurrentBlueprint {
  /** Hash of the template's name. */
  readonly refHash: string;
  /** Hash of the fields whose change makes a member of a warm pool stale. */
  readonly blueprintHash: string;
  /** Hash of the whole Pod template, labels and annotations included; only older releases read it. */
  readonly podTemplateHash: string;
  /** The Pod spec with the secure defaults. */
  readonly podSpec: PodSpec;
  readonly volumeClaimTemplates: readonly VolumeClaimTemplate[];
  readonly service: boolean | undefined;
}

// To hash a template of 1.5 MiB takes 0.1 s, and each pass of its pools and claims needs the hash. Objects of the
// stores are never changed in place, so the result is cached by object.
const known = new WeakMap<SandboxTemplate, CurrentBlueprint>();

/**
 * The blueprint of a template. Its hash leaves out labels and annotations of Pods and volume claims, `autoSuspension`,
 * `autoResume` and `suspensionStrategy`: these reach a sandbox without a new Pod. The same object gives the same blueprint.
 */
export function currentBlueprint(template: SandboxTemplate): CurrentBlueprint {
  const blueprint = known.get(template) ?? blueprintOf(template);
  known.set(template, blueprint);
  return blueprint;
}

function blueprintOf({ metadata, spec }: SandboxTemplate): CurrentBlueprint {
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

/** The part of a volume claim template that makes one volume differ from another. */
export const claimIdentity = ({ metadata, spec }: VolumeClaimTemplate) => ({ name: metadata?.name ?? "", spec });
