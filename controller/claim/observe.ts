import { controllerOf, keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { NetworkPolicy } from "../../api/kinds/network-policy.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";
import { claimedSandboxName } from "../../api/rules/claimed-sandbox-name.ts";
import type { Store } from "../../kube/informer/informer.ts";
import type { View } from "../own-writes.ts";
import { assignmentOf } from "./adoption/assignment.ts";
import { impliedPool, poolKeyOf } from "./adoption/pool-membership.ts";
import type { Observed } from "./observed.ts";

/** The stores that a claim and its objects are read from. */
export interface ClaimViews {
  readonly claims: View<SandboxClaim>;
  readonly sandboxes: View<Sandbox>;
  readonly controlledSandboxes: Pick<Store<Sandbox, "controllerUid">, "by">;
  readonly pools: View<SandboxWarmPool>;
  readonly templates: View<SandboxTemplate>;
  readonly networkPolicies: Pick<View<NetworkPolicy>, "get">;
  /** Whether clients may write claims in `v1alpha1`, where a claim names a template. In `v1beta1` it names only a pool. */
  readonly servesV1alpha1: boolean;
}

/** Sandboxes by the UID of their controller, which is in their namespace, as an index of their informer. */
export const controllerIndexes = {
  controllerUid: (sandbox: Stored<Sandbox>): readonly string[] => {
    const owner = controllerOf(sandbox);
    return owner ? [keyFor(sandbox.metadata.namespace, owner.uid)] : [];
  },
};

/** Answers of the API server during this pass, by name; undefined: no such Sandbox. */
export type Confirmed = ReadonlyMap<string, Stored<Sandbox> | undefined>;

/** A snapshot of the stores, corrected by `confirmed`. */
export function observe(claim: Stored<SandboxClaim>, views: ClaimViews, confirmed: Confirmed, now: Date): Observed {
  const { namespace } = claim.metadata;
  const pool = views.pools.get(poolKeyOf(claim)) ?? (views.servesV1alpha1 ? impliedPool(claim) : undefined);
  const templateNamed = (name: string) => views.templates.get(keyFor(namespace, name));
  const read = (name: string) =>
    confirmed.has(name) ? confirmed.get(name) : views.sandboxes.get(keyFor(namespace, name));
  const names = [claim.status?.sandbox?.name, assignmentOf(claim)?.name, claimedSandboxName(claim.metadata)];
  const seen = names.flatMap((name) => (name ? (read(name) ?? []) : []));
  return {
    now,
    claim,
    pool,
    template: pool && templateNamed(pool.spec.sandboxTemplateRef.name),
    templateNamed,
    sandboxes: new Map(seen.map((sandbox) => [sandbox.metadata.name, sandbox])),
    own: views.controlledSandboxes.by("controllerUid", keyFor(namespace, claim.metadata.uid)),
    confirmed: new Set(confirmed.keys()),
  };
}
