import type { Stored } from "../../../api/kinds/meta.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import {
  assignedSandboxAnnotation,
  assignedSandboxLabel,
  controllerFirstObservedAtAnnotation,
  traceContextAnnotation,
} from "../../../api/rules/keys.ts";
import { compactPatch } from "../../merge-patch.ts";

/** The Sandbox that a claim was given. It is written on the claim before the Sandbox changes its owner. */
export interface Assignment {
  readonly name: string;
  /** Written by an older release, as a label. */
  readonly legacy: boolean;
}

export function assignmentOf({ metadata }: SandboxClaim): Assignment | undefined {
  const name = metadata.annotations?.[assignedSandboxAnnotation];
  if (name) return { name, legacy: false };
  const legacy = metadata.labels?.[assignedSandboxLabel];
  return legacy ? { name: legacy, legacy: true } : undefined;
}

/** Annotations to add to a claim if they are missing. */
export interface Notes {
  /** RFC 3339; undefined: not to be written, or already written. */
  readonly firstObservedAt: string | undefined;
  /** The trace context; undefined: not to be written, or already written. */
  readonly traceContext: string | undefined;
}

export const noNotes: Notes = { firstObservedAt: undefined, traceContext: undefined };

/** The patch that assigns a Sandbox to a claim, with the resourceVersion that was read. */
export const assignPatch = (claim: Stored<SandboxClaim>, name: string, notes: Notes): object =>
  underVersion(claim, {
    annotations: { ...missingNotes(notes), [assignedSandboxAnnotation]: name },
    labels: withoutLegacyLabel(claim),
  });

/** The patch that removes the assignment of this Sandbox; undefined when the claim has no such assignment. */
export function unassignPatch(claim: Stored<SandboxClaim>, name: string): object | undefined {
  const { annotations = {}, labels = {} } = claim.metadata;
  const change = compactPatch({
    annotations: annotations[assignedSandboxAnnotation] === name ? { [assignedSandboxAnnotation]: null } : undefined,
    labels: labels[assignedSandboxLabel] === name ? { [assignedSandboxLabel]: null } : undefined,
  });
  return change && underVersion(claim, change);
}

/** The patch that adds missing annotations and, with `moves`, turns an older release's label into the annotation. */
export function notesPatch(claim: Stored<SandboxClaim>, notes: Notes, moves: boolean): object | undefined {
  const assignment = assignmentOf(claim);
  const moved = moves && assignment?.legacy ? assignment : undefined;
  const annotations = { ...missingNotes(notes), ...(moved && { [assignedSandboxAnnotation]: moved.name }) };
  const metadata = compactPatch({
    annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
    labels: moved && withoutLegacyLabel(claim),
  });
  return metadata && { metadata };
}

const missingNotes = ({ firstObservedAt, traceContext }: Notes): Readonly<Record<string, string>> => ({
  ...(firstObservedAt !== undefined && { [controllerFirstObservedAtAnnotation]: firstObservedAt }),
  ...(traceContext !== undefined && { [traceContextAnnotation]: traceContext }),
});

const withoutLegacyLabel = ({ metadata }: SandboxClaim) =>
  metadata.labels?.[assignedSandboxLabel] === undefined ? undefined : { [assignedSandboxLabel]: null };

const underVersion = ({ metadata }: Stored<SandboxClaim>, change: object) => ({
  metadata: { resourceVersion: metadata.resourceVersion, ...change },
});
