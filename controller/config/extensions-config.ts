import type { FlagValues } from "../../lib/flags/flags.ts";
import type { WarmPoolSettings } from "../warm-pool/settings.ts";
import type { controllerFlags } from "./controller-flags.ts";

/** What the controllers of templates, warm pools and claims are asked to do. */
export interface ExtensionsConfig {
  readonly templateWorkers: number;
  readonly warmPoolWorkers: number;
  readonly warmPools: WarmPoolSettings;
  readonly claimWorkers: number;
  readonly claimEvents: boolean;
  /** Whether the time at which a claim was first seen is written on it. */
  readonly claimNotes: boolean;
}

/** Undefined: only Sandboxes are reconciled. */
export function extensionsConfigOf(values: FlagValues<typeof controllerFlags>): ExtensionsConfig | undefined {
  if (!values.extensions) return undefined;
  return {
    templateWorkers: Math.max(1, values["sandbox-template-concurrent-workers"]),
    warmPoolWorkers: values["sandbox-warm-pool-concurrent-workers"],
    warmPools: {
      maxBatch: values["sandbox-warm-pool-max-batch-size"],
      replenishDelayMs: values["sandbox-warm-pool-replenish-delay"],
      maxRefillPerSecond: values["sandbox-warm-pool-max-refill-rate"],
      readinessGraceMs: values["sandbox-warm-pool-readiness-grace-period"],
      notProgressingRecheckMs: values["sandbox-warm-pool-unschedulable-recheck-interval"],
      evictable: values["enable-warm-pool-eviction"],
    },
    claimWorkers: values["sandbox-claim-concurrent-workers"],
    claimEvents: !values["disable-claim-events"],
    claimNotes: !values["disable-claim-observability-annotations"],
  };
}
