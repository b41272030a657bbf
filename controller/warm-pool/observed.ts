import type { Stored } from "../../api/meta.ts";
import type { Pod } from "../../api/pod.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";
import type { CurrentBlueprint } from "../blueprint/current-blueprint.ts";
import type { Look } from "./expectations.ts";

/** Everything that one look at the stores shows of one pool. */
export interface Observed {
  readonly now: Date;
  readonly pool: Stored<SandboxWarmPool>;
  /** Undefined: there is none of that name. */
  readonly template: { readonly object: Stored<SandboxTemplate>; readonly blueprint: CurrentBlueprint } | undefined;
  /** Every sandbox with the pool's label, whoever controls it. */
  readonly labelled: readonly Stored<Sandbox>[];
  /** What the store may have hidden at that moment. */
  readonly look: Look;
  /** UIDs of those that were deleted without the store showing it yet. */
  readonly pendingDeletions: ReadonlySet<string>;
  /** The Pods that had to be asked for, by the UID of their sandbox; undefined: it is known that there is none. */
  readonly pods: ReadonlyMap<string, Stored<Pod> | undefined>;
  readonly readinessGraceMs: number;
}
