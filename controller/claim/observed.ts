import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../api/kinds/sandbox-warm-pool.ts";

/** A snapshot of everything in the stores about one claim. */
export interface Observed {
  readonly now: Date;
  readonly claim: Stored<SandboxClaim>;
  /** The pool that the claim names, and the pool's template. */
  readonly pool: Pick<SandboxWarmPool, "spec"> | undefined;
  readonly template: Stored<SandboxTemplate> | undefined;
  /** A template in the claim's namespace, by name, for a Sandbox that was created from it. */
  readonly templateNamed: (name: string) => Stored<SandboxTemplate> | undefined;
  /** The existing Sandboxes among the names that the claim leads to. */
  readonly sandboxes: ReadonlyMap<string, Stored<Sandbox>>;
  /** Every Sandbox that this claim controls; more than one only after two controllers have worked at the same time. */
  readonly own: readonly Stored<Sandbox>[];
  /** Names for which `sandboxes` shows a direct answer of the API server. */
  readonly confirmed: ReadonlySet<string>;
}
