import { keyFor, keyOf, parseKey, type Stored } from "../../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../../api/kinds/network-policy.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { migrationPoolName } from "../../../api/rules/names.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import type { Source } from "../../start-kind.ts";
import { templateKeys } from "../../template/policy-in-place.ts";
import type { AdoptionQueues } from "./adoption-queue.ts";
import { poolKeyOf } from "./pool-membership.ts";

/** Claims by the key of the pool that they name, as an index of their informer. */
export const claimIndexes = { pool: (claim: Stored<SandboxClaim>): readonly string[] => [poolKeyOf(claim)] };

type Claims = Informer<SandboxClaim, "pool">;

/**
 * Enqueues the unbound claims of a pool when the pool is created, deleted, or its spec changes; its status enqueues
 * none.
 */
export const claimsOfPools =
  (pools: Informer<SandboxWarmPool>, claims: Claims, queues: AdoptionQueues): Source =>
  (enqueue) =>
    pools.onChange(({ key, previous, current }) => {
      if (!current) queues.drop(key);
      if (previous && current && previous.metadata.generation === current.metadata.generation) return;
      const unbound = claims.store.by("pool", key).filter(({ status }) => !status?.sandbox?.name);
      for (const claim of unbound) if (!claim.metadata.deletionTimestamp) enqueue(keyOf(claim));
    });

/**
 * Enqueues every claim of a template when the template is created. A changed template reaches a claim at the claim's
 * next pass.
 */
export const claimsOfTemplates =
  (templates: Informer<SandboxTemplate>, pools: Informer<SandboxWarmPool, "template">, claims: Claims): Source =>
  (enqueue) =>
    templates.onChange(({ key, previous, current }) => {
      if (!previous && current) for (const claim of claimsOf(key, pools, claims)) enqueue(keyOf(claim));
    });

/**
 * Enqueues the claims without a Sandbox when a NetworkPolicy of their template appears or changes: they may wait for
 * it.
 */
export const claimsOfPolicies =
  (policies: Informer<NetworkPolicy>, pools: Informer<SandboxWarmPool, "template">, claims: Claims): Source =>
  (enqueue) =>
    policies.onChange(({ current }) => {
      const keys = current ? templateKeys(current) : [];
      const unbound = keys
        .flatMap((key) => claimsOf(key, pools, claims))
        .filter(({ status }) => !status?.sandbox?.name);
      for (const claim of unbound) enqueue(keyOf(claim));
    });

/** The claims of every pool of a template that are not being deleted. */
function claimsOf(templateKey: string, pools: Informer<SandboxWarmPool, "template">, claims: Claims) {
  const { namespace, name } = parseKey(templateKey);
  const implied = keyFor(namespace, migrationPoolName(name));
  const poolKeys = new Set([implied, ...pools.store.by("template", templateKey).map(keyOf)]);
  const all = [...poolKeys].flatMap((poolKey) => claims.store.by("pool", poolKey));
  return all.filter(({ metadata }) => !metadata.deletionTimestamp);
}
