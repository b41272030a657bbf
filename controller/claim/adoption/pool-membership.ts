import { templateNamedBy } from "../../../api/conversion/sandbox-claim.ts";
import { controllerOf, keyFor } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { templateRefHashLabel, warmPoolSandboxLabel } from "../../../api/rules/keys.ts";
import { ownedBy } from "../../sandbox/metrics/metric-labels.ts";
import { controllingPool } from "../../warm-pool/members.ts";

/** The pool that a claim names, as `namespace/name`. */
export const poolKeyOf = ({ metadata, spec }: SandboxClaim): string =>
  keyFor(metadata.namespace, spec.warmPoolRef.name);

/**
 * The substitute for the pool of a claim that was written in `v1alpha1` and names only a template, when the pool that
 * the conversion refers to does not exist: an empty pool of that template.
 */
export function impliedPool(claim: SandboxClaim): Pick<SandboxWarmPool, "spec"> | undefined {
  const name = templateNamedBy(claim);
  return name === undefined ? undefined : { spec: { replicas: 0, sandboxTemplateRef: { name } } };
}

/**
 * The pool, as `namespace/name`, whose members include this sandbox and may be given to a claim; undefined when it may
 * not be given to a claim. Readiness does not matter here.
 */
export function adoptableFrom(sandbox: Sandbox): string | undefined {
  const { labels = {}, namespace, deletionTimestamp } = sandbox.metadata;
  const pool = deletionTimestamp ? undefined : controllingPool(sandbox);
  const labelled = labels[warmPoolSandboxLabel] !== undefined && labels[templateRefHashLabel] !== undefined;
  return pool && labelled ? keyFor(namespace, pool.name) : undefined;
}

/** The claim, as `namespace/name`, that a sandbox was created for or given to. */
export function claimantOf(sandbox: Sandbox): string | undefined {
  const owner = ownedBy(sandbox) === "SandboxClaim" ? controllerOf(sandbox) : undefined;
  return owner && keyFor(sandbox.metadata.namespace, owner.name);
}
