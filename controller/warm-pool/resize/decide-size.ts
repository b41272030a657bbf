import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxWarmPoolSpec } from "../../../api/kinds/sandbox-warm-pool.ts";
import { effectivePoolReplicas } from "../../../api/rules/defaults.ts";
import { createdMs } from "../../../api/rules/timestamps.ts";
import { isReady } from "../members.ts";
import type { Census } from "../reconcile-members.ts";

export interface Situation {
  readonly spec: SandboxWarmPoolSpec;
  readonly census: Pick<Census, "active" | "terminating" | "unsettled">;
  /** Whether there is a template, and sandboxes may be made from it. */
  readonly templateKnown: boolean;
  /** How long the pool is to wait before it is filled up again. */
  readonly heldMs: number;
  readonly maxBatch: number;
}

/** What is to be done about the size of a pool in one pass. */
export type Resize =
  | { readonly do: "nothing" }
  | { readonly do: "wait"; readonly forMs: number }
  | { readonly do: "create"; readonly count: number }
  | { readonly do: "remove"; readonly members: readonly Stored<Sandbox>[] };

export function decideSize({ spec, census, templateKnown, heldMs, maxBatch }: Situation): Resize {
  const desired = effectivePoolReplicas(spec);
  const { active, terminating, unsettled } = census;
  if (active.length > desired) {
    const excess = Math.min(active.length - desired, maxBatch);
    return { do: "remove", members: inOrderOfRemoval(active).slice(0, excess) };
  }
  if (!templateKnown) return { do: "nothing" };
  if (heldMs > 0 && active.length < desired) return { do: "wait", forMs: heldMs };
  // The place of one that goes is free only when it is gone.
  const missing = desired - active.length - terminating - unsettled;
  return missing > 0 ? { do: "create", count: Math.min(missing, maxBatch) } : { do: "nothing" };
}

/** Those first that are of least use: not ready, then the newest. */
function inOrderOfRemoval(members: readonly Stored<Sandbox>[]): readonly Stored<Sandbox>[] {
  return [...members].sort((a, b) => Number(isReady(a)) - Number(isReady(b)) || createdMs(b) - createdMs(a));
}
