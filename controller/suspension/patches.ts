// The writes of a suspension, as merge patches. Each carries the version that it was decided on, so that whoever changed
// the sandbox meanwhile wins, and the suspension is decided anew.
import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import type { OperatingMode, Sandbox } from "../../api/sandbox.ts";
import { formatSeal, inactivityAt, type Seal, type SuspensionCause } from "../../api/suspension.ts";
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

/** Asks for the suspension of a running sandbox by inactivity. Under its version, the write makes the next generation. */
export const intentPatch = (sandbox: Stored<Sandbox>): SandboxPatch => ({
  ...under(sandbox, { [suspensionCauseAnnotation]: inactivityAt((sandbox.metadata.generation ?? 0) + 1) }),
  spec: { operatingMode: "Suspended" },
});

/** Calls a suspension by inactivity off. */
export const runningPatch = (sandbox: Stored<Sandbox>): SandboxPatch => ({
  ...under(sandbox, { [suspensionCauseAnnotation]: null }),
  spec: { operatingMode: "Running" },
});

/** Dooms the Pod, and tells since when. */
export function sealPatch(sandbox: Stored<Sandbox>, pod: OwnPod, cause: SuspensionCause, now: Date): SandboxPatch {
  const seal: Seal = { podName: pod.name, podUid: pod.uid, cause, at: now.toISOString() };
  return under(sandbox, { [sealedPodAnnotation]: formatSeal(seal) });
}

export const unsealPatch = (sandbox: Stored<Sandbox>): SandboxPatch => under(sandbox, { [sealedPodAnnotation]: null });
