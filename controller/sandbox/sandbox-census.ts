import { Gauge, type Registry } from "prom-client";
import { findCondition, isConditionTrue } from "../../api/conditions.ts";
import { effectiveOperatingMode } from "../../api/defaults.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { creator, launchType, lifecycleLabels } from "./metric-labels.ts";

/** Registers `agent_sandboxes`, which counts at every scrape what `list` returns. */
export function registerSandboxCensus(registry: Registry, list: () => readonly Sandbox[]): void {
  new Gauge({
    name: "agent_sandboxes",
    help: "Sandboxes that there are, by what they are like.",
    labelNames: [
      "namespace",
      "ready_condition",
      "expired",
      "launch_type",
      "sandbox_template",
      "owned_by",
      "created_by",
      "operating_mode",
    ],
    registers: [registry],
    collect() {
      this.reset();
      for (const sandbox of list()) this.inc(likenessOf(sandbox));
    },
  });
}

const likenessOf = (sandbox: Sandbox) => ({
  ...lifecycleLabels(sandbox),
  ready_condition: String(isConditionTrue(sandbox.status?.conditions, "Ready")),
  expired: String(findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired"),
  launch_type: launchType(sandbox),
  created_by: creator(sandbox),
  operating_mode: effectiveOperatingMode(sandbox.spec),
});
