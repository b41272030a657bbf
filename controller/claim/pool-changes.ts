import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { migrationPoolName } from "../../api/names.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { Informer } from "../../kube/informer.ts";
import type { Source } from "../start-kind.ts";
import type { AdoptionQueues } from "./adoption-queue.ts";
import { poolKeyOf } from "./pool-membership.ts";

/** Claims by the key of the pool that they name, as an index of their informer. */
export const claimIndexes = { pool: (claim: Stored<SandboxClaim>): readonly string[] => [poolKeyOf(claim)] };

type Claims = Informer<SandboxClaim, "pool">;

/** Wakes the claims that wait for a pool when it comes, goes, or is changed by somebody; its status wakes nobody. */
export const claimsOfPools =
  (pools: Informer<SandboxWarmPool>, claims: Claims, queues: AdoptionQueues): Source =>
  (enqueue) =>
    pools.onChange(({ key, previous, current }) => {
      if (!current) queues.drop(key);
      if (previous && current && previous.metadata.generation === current.metadata.generation) return;
      const unbound = claims.store.by("pool", key).filter(({ status }) => !status?.sandbox?.name);
      for (const claim of unbound) if (!claim.metadata.deletionTimestamp) enqueue(keyOf(claim));
    });

/** Wakes every claim of a template that comes; one that changes reaches a claim when that is looked at for itself. */
export const claimsOfTemplates =
  (templates: Informer<SandboxTemplate>, pools: Informer<SandboxWarmPool, "template">, claims: Claims): Source =>
  (enqueue) =>
    templates.onChange(({ key, previous, current }) => {
      if (previous || !current) return;
      const { namespace, name } = current.metadata;
      const implied = keyFor(namespace, migrationPoolName(name));
      const poolKeys = new Set([implied, ...pools.store.by("template", key).map(keyOf)]);
      for (const poolKey of poolKeys) {
        for (const claim of claims.store.by("pool", poolKey)) {
          if (!claim.metadata.deletionTimestamp) enqueue(keyOf(claim));
        }
      }
    });
