import {
  assignedSandboxAnnotation,
  assignedSandboxLabel,
  controllerFirstObservedAtAnnotation,
  traceContextAnnotation,
} from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import { compactPatch } from "../merge-patch.ts";

/** Which Sandbox a claim was given, as it is written on the claim before the Sandbox itself says so. */
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

/** What is to be written on a claim besides, where it is not there yet. */
export interface Notes {
  /** RFC 3339; undefined: not to be written, or written already. */
  readonly firstObservedAt: string | undefined;
  /** What continues the trace; undefined: not to be written, or written already. */
  readonly traceContext: string | undefined;
}

/** The patch that gives a Sandbox to a claim, if the claim is still what was seen. */
export const assignPatch = (claim: Stored<SandboxClaim>, name: string, notes: Notes): object =>
  underVersion(claim, {
    annotations: { ...missingNotes(notes), [assignedSandboxAnnotation]: name },
    labels: withoutLegacyLabel(claim),
  });

/** The patch that takes this very Sandbox from a claim again; undefined when the claim was not given it. */
export function unassignPatch(claim: Stored<SandboxClaim>, name: string): object | undefined {
  const { annotations = {}, labels = {} } = claim.metadata;
  const change = compactPatch({
    annotations: annotations[assignedSandboxAnnotation] === name ? { [assignedSandboxAnnotation]: null } : undefined,
    labels: labels[assignedSandboxLabel] === name ? { [assignedSandboxLabel]: null } : undefined,
  });
  return change && underVersion(claim, change);
}

/** The patch that writes down what is missing, and, when `moves`, an assignment of an older release as it is written now. */
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
