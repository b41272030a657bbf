import { claimedSandboxName } from "../../api/claimed-sandbox-name.ts";
import { controllerOf, keyFor, type Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { Store } from "../../kube/informer.ts";
import type { View } from "../own-writes.ts";
import { assignmentOf } from "./assignment.ts";
import type { Observed } from "./observed.ts";
import { impliedPool, poolKeyOf } from "./pool-membership.ts";

/** Where a claim and what it leads to are looked up. */
export interface ClaimViews {
  readonly claims: View<SandboxClaim>;
  readonly sandboxes: View<Sandbox>;
  readonly controlledSandboxes: Pick<Store<Sandbox, "controllerUid">, "by">;
  readonly pools: View<SandboxWarmPool>;
  readonly templates: View<SandboxTemplate>;
}

/** Sandboxes by the UID of whoever controls them, as an index of their informer. */
export const controllerIndexes = {
  controllerUid: (sandbox: Stored<Sandbox>): readonly string[] => {
    const owner = controllerOf(sandbox);
    return owner ? [owner.uid] : [];
  },
};

/** What the API server itself has said during this pass, by name; undefined: there is none. */
export type Confirmed = ReadonlyMap<string, Stored<Sandbox> | undefined>;

/** One look at the stores, corrected by what is known better. */
export function observe(claim: Stored<SandboxClaim>, views: ClaimViews, confirmed: Confirmed, now: Date): Observed {
  const { namespace } = claim.metadata;
  const pool = views.pools.get(poolKeyOf(claim)) ?? impliedPool(claim);
  const template = pool && views.templates.get(keyFor(namespace, pool.spec.sandboxTemplateRef.name));
  const look = (name: string) =>
    confirmed.has(name) ? confirmed.get(name) : views.sandboxes.get(keyFor(namespace, name));
  const names = [claim.status?.sandbox?.name, assignmentOf(claim)?.name, claimedSandboxName(claim.metadata)];
  const seen = names.flatMap((name) => (name ? (look(name) ?? []) : []));
  return {
    now,
    claim,
    pool,
    template,
    sandboxes: new Map(seen.map((sandbox) => [sandbox.metadata.name, sandbox])),
    own: views.controlledSandboxes.by("controllerUid", claim.metadata.uid),
    confirmed: new Set(confirmed.keys()),
  };
}
