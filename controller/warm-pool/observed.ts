import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";
import type { CurrentBlueprint } from "../blueprint/current-blueprint.ts";
import type { ExpectationsSnapshot } from "./resize/expectations.ts";

/** One observation of a pool, from the stores. */
export interface Observed {
  readonly now: Date;
  readonly pool: Stored<SandboxWarmPool>;
  /** Undefined: it does not exist. */
  readonly template: { readonly object: Stored<SandboxTemplate>; readonly blueprint: CurrentBlueprint } | undefined;
  /** Why no sandbox may be made from the template yet. */
  readonly policyGap: string | undefined;
  /** Every sandbox with the pool's label, with any controller. */
  readonly labelled: readonly Stored<Sandbox>[];
  /** What the store may have hidden at that moment. */
  readonly snapshot: ExpectationsSnapshot;
  /** UIDs of those that were deleted without the store showing it yet. */
  readonly pendingDeletions: ReadonlySet<string>;
  /** The Pods of overdue members that were looked at, by the UID of their sandbox; undefined: there is none. */
  readonly pods: ReadonlyMap<string, Stored<Pod> | undefined>;
  /** By UID, for how long each was seen by this process, in monotonic milliseconds. */
  readonly agesMs: ReadonlyMap<string, number>;
  /** How long a member may take to become ready. */
  readonly readinessGraceMs: (member: Stored<Sandbox>) => number;
}
