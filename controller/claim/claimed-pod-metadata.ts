import {
  claimUidLabel,
  createdByLabel,
  podTemplateHashLabel,
  safeToEvictAnnotation,
  templateHashLabel,
  templateRefHashLabel,
  warmPoolSandboxLabel,
} from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { PodTemplate } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";

type StringMap = Readonly<Record<string, string>>;

export interface PodMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

/** What a Sandbox carries, and its Pod template, only while it belongs to a pool. */
export const poolLabels = [warmPoolSandboxLabel, podTemplateHashLabel, templateHashLabel] as const;

/**
 * What the Pod template of a claimed Sandbox carries: all of its template's, what the claim adds, and whose it is.
 *
 * @throws Error when the claim gives a key of the template another value.
 */
export function claimedPodMetadata(
  { metadata: given = {} }: Pick<PodTemplate, "metadata">,
  claim: Stored<SandboxClaim>,
  refHash: string,
): PodMetadata {
  const { labels, annotations } = claim.spec.additionalPodMetadata ?? {};
  // Whoever made the template has not made the claim.
  const { [createdByLabel]: _, ...ofTemplate } = given.labels ?? {};
  return {
    labels: { ...merged("label", ofTemplate, labels), ...claimLabels(claim), [templateRefHashLabel]: refHash },
    annotations: merged("annotation", given.annotations, annotations),
  };
}

/** The same where the template cannot be seen: what the Sandbox has, without what was there for the pool alone. */
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

/** Whose a Sandbox is, on it and on its Pod template. A claim without a creator has none. */
export function claimLabels({ metadata }: Stored<SandboxClaim>): StringMap {
  const createdBy = metadata.labels?.[createdByLabel];
  return { [claimUidLabel]: metadata.uid, ...(createdBy && { [createdByLabel]: createdBy }) };
}

function merged(what: string, given: StringMap = {}, added: StringMap = {}): StringMap {
  const clash = Object.keys(added)
    .sort()
    .find((key) => given[key] !== undefined && given[key] !== added[key]);
  if (clash !== undefined) {
    throw new Error(`${what} ${clash} of the SandboxTemplate may not be overridden by the SandboxClaim`);
  }
  return { ...given, ...added };
}
