import { templateHashLabel, templateRefHashLabel } from "../../api/keys.ts";
import { controllerOf } from "../../api/meta.ts";
import type { Sandbox, SandboxSpec } from "../../api/sandbox.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { type CurrentBlueprint, claimIdentity } from "./current-blueprint.ts";
import { withoutZeroValues } from "./zero-values.ts";

/** Whether a sandbox that was made in advance is not what its template would make now. */
export function isStale(sandbox: Sandbox, current: CurrentBlueprint): boolean {
  const { labels = {} } = sandbox.metadata;
  if (labels[templateRefHashLabel] !== current.refHash) return true;
  // Whoever made one without an owner may have written any hash on it.
  const trusted = controllerOf(sandbox) !== undefined;
  if (trusted && labels[templateHashLabel] === current.blueprintHash) return false;
  return !runsTheSame(sandbox.spec, current);
}

/** Whether two ask for the same Pod, volumes and Service. Hashes may differ all the same: other releases make others. */
export const runsTheSame = (spec: SandboxSpec, current: CurrentBlueprint): boolean =>
  semanticallyEqual(withoutZeroValues(spec.podTemplate.spec), withoutZeroValues(current.podSpec)) &&
  semanticallyEqual(
    (spec.volumeClaimTemplates ?? []).map(claimIdentity),
    current.volumeClaimTemplates.map(claimIdentity),
  ) &&
  spec.service === current.service;
