// The writes of a suspension, as merge patches. Each carries the version that it was decided on, so that a client that
// changed the sandbox meanwhile wins, and the suspension is decided again.

import type { Stored } from "../../../api/kinds/meta.ts";
import type { OperatingMode, Sandbox } from "../../../api/kinds/sandbox.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal, inactivityAt, type Seal, type SuspensionCause } from "../../../api/rules/suspension.ts";
import type { OwnPod } from "./decide-suspension.ts";

export interface SandboxPatch {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly operatingMode: OperatingMode };
}

const under = (
  { metadata }: Stored<Sandbox>,
  annotations: SandboxPatch["metadata"]["annotations"],
): Pick<SandboxPatch, "metadata"> => ({ metadata: { resourceVersion: metadata.resourceVersion, annotations } });

/**
 * Requests the suspension of a running sandbox for inactivity. With the resourceVersion it makes the next generation,
 * which the cause names.
 */
export const intentPatch = (sandbox: Stored<Sandbox>): SandboxPatch => ({
  ...under(sandbox, { [suspensionCauseAnnotation]: inactivityAt((sandbox.metadata.generation ?? 0) + 1) }),
  spec: { operatingMode: "Suspended" },
});

/** Says of a suspension by inactivity that an edit of the sandbox has not changed its cause. */
export const renewCausePatch = (sandbox: Stored<Sandbox>): SandboxPatch =>
  under(sandbox, { [suspensionCauseAnnotation]: inactivityAt(sandbox.metadata.generation ?? 0) });

/** Cancels a suspension for inactivity. */
export const runningPatch = (sandbox: Stored<Sandbox>): SandboxPatch => ({
  ...under(sandbox, { [suspensionCauseAnnotation]: null }),
  spec: { operatingMode: "Running" },
});

/** Seals the Pod, with the time of the seal. */
export function sealPatch(sandbox: Stored<Sandbox>, pod: OwnPod, cause: SuspensionCause, now: Date): SandboxPatch {
  const seal: Seal = { podName: pod.name, podUid: pod.uid, cause, at: now.toISOString() };
  return under(sandbox, { [sealedPodAnnotation]: formatSeal(seal) });
}

export const unsealPatch = (sandbox: Stored<Sandbox>): SandboxPatch => under(sandbox, { [sealedPodAnnotation]: null });
