import type { Stored } from "../../../api/kinds/meta.ts";
import type { PodTemplate } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import {
  claimUidLabel,
  createdByLabel,
  podTemplateHashLabel,
  safeToEvictAnnotation,
  templateHashLabel,
  templateRefHashLabel,
  warmPoolSandboxLabel,
} from "../../../api/rules/keys.ts";

type StringMap = Readonly<Record<string, string>>;

export interface PodMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

/** Labels of a Sandbox and its Pod template that are set only while it belongs to a pool. */
export const poolLabels = [warmPoolSandboxLabel, podTemplateHashLabel, templateHashLabel] as const;

/**
 * The Pod template metadata of a claimed Sandbox: the template's, the claim's additions, and the claim's identity. `had`: that of the
 * Sandbox which the claim has already. What the claim got before the template had the key, it keeps: else an edit of a template would make
 * the running claims fail.
 *
 * @throws Error when the claim gives a key of the template another value.
 */
export function claimedPodMetadata(
  { metadata: given = {} }: Pick<PodTemplate, "metadata">,
  claim: Stored<SandboxClaim>,
  refHash: string,
  had: Partial<PodMetadata> = {},
): PodMetadata {
  const { labels, annotations } = claim.spec.additionalPodMetadata ?? {};
  // The creator of the template is not the creator of the claim.
  const { [createdByLabel]: _, ...ofTemplate } = given.labels ?? {};
  return {
    labels: {
      ...merged("label", ofTemplate, labels, had.labels),
      ...claimLabels(claim),
      [templateRefHashLabel]: refHash,
    },
    annotations: merged("annotation", given.annotations, annotations, had.annotations),
  };
}

/** The same without the template: the Sandbox's metadata without the keys that only pool members have. */
export function inheritedPodMetadata(
  { metadata: had = {} }: Pick<PodTemplate, "metadata">,
  claim: Stored<SandboxClaim>,
  refHash: string,
): PodMetadata {
  const { [safeToEvictAnnotation]: safeToEvict, ...annotations } = had.annotations ?? {};
  const ofTemplate =
    safeToEvict === undefined || safeToEvict === "true" ? {} : { [safeToEvictAnnotation]: safeToEvict };
  const spares: readonly string[] = poolLabels;
  const labels = Object.fromEntries(Object.entries(had.labels ?? {}).filter(([key]) => !spares.includes(key)));
  return claimedPodMetadata({ metadata: { labels, annotations: { ...annotations, ...ofTemplate } } }, claim, refHash);
}

/** The claim's identity labels for the Sandbox and its Pod template. A claim without a creator has no creator label. */
export function claimLabels({ metadata }: Stored<SandboxClaim>): StringMap {
  const createdBy = metadata.labels?.[createdByLabel];
  return { [claimUidLabel]: metadata.uid, ...(createdBy && { [createdByLabel]: createdBy }) };
}

function merged(what: string, given: StringMap = {}, added: StringMap = {}, had: StringMap = {}): StringMap {
  const isKept = (key: string) => Object.hasOwn(had, key) && had[key] === added[key];
  const clash = Object.keys(added)
    .sort()
    .find((key) => Object.hasOwn(given, key) && given[key] !== added[key] && !isKept(key));
  if (clash !== undefined) {
    throw new Error(`${what} ${clash} of the SandboxTemplate may not be overridden by the SandboxClaim`);
  }
  return { ...given, ...added };
}
