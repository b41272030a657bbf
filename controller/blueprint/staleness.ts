import { controllerOf } from "../../api/kinds/meta.ts";
import type { Sandbox, SandboxSpec } from "../../api/kinds/sandbox.ts";
import { templateHashLabel, templateRefHashLabel } from "../../api/rules/keys.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import { type CurrentBlueprint, claimIdentity } from "./current-blueprint.ts";
import { withoutZeroValues } from "./zero-values.ts";

/** Whether a member of a warm pool differs from what its template would create now. */
export function isStale(sandbox: Sandbox, current: CurrentBlueprint): boolean {
  const { labels = {} } = sandbox.metadata;
  if (labels[templateRefHashLabel] !== current.refHash) return true;
  // Without an owner, the hash on the sandbox cannot be trusted.
  const trusted = controllerOf(sandbox) !== undefined;
  if (trusted && labels[templateHashLabel] === current.blueprintHash) return false;
  return !remembered(sandbox, current);
}

interface Verdict {
  readonly blueprintHash: string;
  readonly same: boolean;
}

const verdicts = new WeakMap<SandboxSpec, Verdict>();

/**
 * Whether the sandbox and the blueprint ask for the same Pod, volumes and Service. The result is cached by spec and
 * blueprint: to compare two specs of 1.5 MiB takes 0.1 s, and every pass of a pool compares every member while the
 * hashes differ. Objects of the stores are never changed in place.
 */
function remembered({ spec }: Sandbox, current: CurrentBlueprint): boolean {
  const { blueprintHash } = current;
  const last = verdicts.get(spec);
  if (last?.blueprintHash === blueprintHash) return last.same;
  const same = runsTheSame(spec, current);
  verdicts.set(spec, { blueprintHash, same });
  return same;
}

/**
 * Whether two specs ask for the same Pod, volumes and Service. Their hashes may still differ, since other releases
 * compute other hashes.
 */
export const runsTheSame = (spec: SandboxSpec, current: CurrentBlueprint): boolean =>
  semanticallyEqual(withoutZeroValues(spec.podTemplate.spec), withoutZeroValues(current.podSpec)) &&
  semanticallyEqual(
    (spec.volumeClaimTemplates ?? []).map(claimIdentity),
    current.volumeClaimTemplates.map(claimIdentity),
  ) &&
  spec.service === current.service;
