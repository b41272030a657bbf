import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/sandbox-warm-pool.ts";

/** Everything that one look at the stores shows of one claim. */
export interface Observed {
  readonly now: Date;
  readonly claim: Stored<SandboxClaim>;
  /** The pool that the claim names, and the template that the pool names. */
  readonly pool: Pick<SandboxWarmPool, "spec"> | undefined;
  readonly template: Stored<SandboxTemplate> | undefined;
  /** Of the Sandboxes whose names the claim leads to, those that are there. */
  readonly sandboxes: ReadonlyMap<string, Stored<Sandbox>>;
  /** Every Sandbox that this very claim controls; more than one only after two controllers have worked at once. */
  readonly own: readonly Stored<Sandbox>[];
  /** Names of which the API server itself has just said what `sandboxes` shows. */
  readonly confirmed: ReadonlySet<string>;
}
