import { Gauge, type Registry } from "prom-client";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition, isConditionTrue } from "../../../api/rules/conditions.ts";
import { effectiveOperatingMode } from "../../../api/rules/defaults.ts";
import { NamesAtAScrape } from "../../metrics/tenant-series.ts";
import { creator, launchType, lifecycleNames, ownedBy } from "./metric-labels.ts";

/** Registers `agent_sandboxes`, which counts at every scrape what `list` returns. */
export function registerSandboxGauge(registry: Registry, list: () => readonly Sandbox[]): void {
  new Gauge({
    name: "agent_sandboxes",
    help: "Current number of Sandboxes, by their properties.",
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
      const names = new NamesAtAScrape();
      for (const sandbox of list()) this.inc({ ...names.labels(lifecycleNames(sandbox)), ...likenessOf(sandbox) });
    },
  });
}

const likenessOf = (sandbox: Sandbox) => ({
  owned_by: ownedBy(sandbox),
  ready_condition: String(isConditionTrue(sandbox.status?.conditions, "Ready")),
  expired: String(findCondition(sandbox.status?.conditions, "Ready")?.reason === "SandboxExpired"),
  launch_type: launchType(sandbox),
  created_by: creator(sandbox),
  operating_mode: effectiveOperatingMode(sandbox.spec),
});
