import { type KubeObject, keyFor, keyOf, parseKey, type Stored } from "../../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../../api/kinds/network-policy.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { migrationPoolName } from "../../../api/rules/names.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import type { Source } from "../../start-kind.ts";
import { templateKeys } from "../../template/policy-in-place.ts";
import { hasProblem } from "../claim-problem.ts";
import type { AdoptionQueues } from "./adoption-queue.ts";
import { poolKeyOf } from "./pool-membership.ts";

/** Claims by the key of the pool that they name, as an index of their informer. */
export const claimIndexes = { pool: (claim: Stored<SandboxClaim>): readonly string[] => [poolKeyOf(claim)] };

type Claims = Informer<SandboxClaim, "pool">;

/**
 * Enqueues the claims of a pool that are not served when the pool is created, deleted, or its spec changes; its status
 * enqueues none.
 */
export const claimsOfPools =
  (pools: Informer<SandboxWarmPool>, claims: Claims, queues: AdoptionQueues): Source =>
  (enqueue) =>
    pools.onChange(({ key, previous, current }) => {
      if (!current) queues.drop(key);
      if (previous && current && hasSameSpec(previous, current)) return;
      const unserved = claims.store.by("pool", key).filter(isUnserved);
      for (const claim of unserved) if (!claim.metadata.deletionTimestamp) enqueue(keyOf(claim));
    });

/**
 * Enqueues every claim of a template when the template is created, and those that are not served when its spec changes:
 * it may allow now what they ask for. A changed template reaches a bound claim at the claim's next pass.
 */
export const claimsOfTemplates =
  (templates: Informer<SandboxTemplate>, pools: Informer<SandboxWarmPool, "template">, claims: Claims): Source =>
  (enqueue) =>
    templates.onChange(({ key, previous, current }) => {
      if (!current || (previous && hasSameSpec(previous, current))) return;
      for (const claim of claimsOf(key, pools, claims)) if (!previous || isUnserved(claim)) enqueue(keyOf(claim));
    });

/**
 * Enqueues the claims that are not served when a NetworkPolicy of their template appears or changes: they may wait for
 * it.
 */
export const claimsOfPolicies =
  (policies: Informer<NetworkPolicy>, pools: Informer<SandboxWarmPool, "template">, claims: Claims): Source =>
  (enqueue) =>
    policies.onChange(({ current }) => {
      const keys = current ? templateKeys(current) : [];
      const unserved = keys.flatMap((key) => claimsOf(key, pools, claims)).filter(isUnserved);
      for (const claim of unserved) enqueue(keyOf(claim));
    });

const hasSameSpec = (before: KubeObject, now: KubeObject): boolean =>
  before.metadata.generation === now.metadata.generation;

/** A claim keeps the name of a Sandbox that is gone while it cannot get another one. */
const isUnserved = (claim: Stored<SandboxClaim>): boolean => !claim.status?.sandbox?.name || hasProblem(claim);

/** The claims of every pool of a template that are not being deleted. */
function claimsOf(templateKey: string, pools: Informer<SandboxWarmPool, "template">, claims: Claims) {
  const { namespace, name } = parseKey(templateKey);
  const implied = keyFor(namespace, migrationPoolName(name));
  const poolKeys = new Set([implied, ...pools.store.by("template", templateKey).map(keyOf)]);
  const all = [...poolKeys].flatMap((poolKey) => claims.store.by("pool", poolKey));
  return all.filter(({ metadata }) => !metadata.deletionTimestamp);
}
