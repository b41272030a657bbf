import { templateRefHashLabel, v1alpha1StateAnnotations, warmPoolSandboxLabel } from "../../api/keys.ts";
import { controllerOf, keyFor } from "../../api/meta.ts";
import { migrationPoolPrefix } from "../../api/names.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import { ownedBy } from "../sandbox/metric-labels.ts";
import { controllingPool } from "../warm-pool/members.ts";

/** The pool that a claim names, as `namespace/name`. */
export const poolKeyOf = ({ metadata, spec }: SandboxClaim): string =>
  keyFor(metadata.namespace, spec.warmPoolRef.name);

/**
 * What stands for the pool of a claim that was written in `v1alpha1` and names a template alone, where nobody has made the
 * pool that the conversion leads it to: an empty one of that template.
 */
export function impliedPool({ metadata, spec }: SandboxClaim): Pick<SandboxWarmPool, "spec"> | undefined {
  const { name } = spec.warmPoolRef;
  const isOld = metadata.annotations?.[v1alpha1StateAnnotations.SandboxClaim] !== undefined;
  if (!isOld || !name.startsWith(migrationPoolPrefix)) return undefined;
  return { spec: { replicas: 0, sandboxTemplateRef: { name: name.slice(migrationPoolPrefix.length) } } };
}

/**
 * The pool, as `namespace/name`, from whose stock a sandbox may be given to a claim; undefined when it may not. Whether
 * it is ready does not matter here.
 */
export function adoptableFrom(sandbox: Sandbox): string | undefined {
  const { labels = {}, namespace, deletionTimestamp } = sandbox.metadata;
  const pool = deletionTimestamp ? undefined : controllingPool(sandbox);
  const labelled = labels[warmPoolSandboxLabel] !== undefined && labels[templateRefHashLabel] !== undefined;
  return pool && labelled ? keyFor(namespace, pool.name) : undefined;
}

/** The claim, as `namespace/name`, that a sandbox was made for or given to. */
export function claimantOf(sandbox: Sandbox): string | undefined {
  const owner = ownedBy(sandbox) === "SandboxClaim" ? controllerOf(sandbox) : undefined;
  return owner && keyFor(sandbox.metadata.namespace, owner.name);
}
