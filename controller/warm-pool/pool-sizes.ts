import { Gauge, type Registry } from "prom-client";
import { findCondition } from "../../api/conditions.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { templateName } from "../sandbox/metric-labels.ts";
import { controllingPool, isReady } from "./members.ts";

/** Registers `agent_sandbox_warmpool_size`, which counts the members of pools among what `list` returns at every scrape. */
export function registerPoolSizes(registry: Registry, list: () => readonly Sandbox[]): void {
  new Gauge({
    name: "agent_sandbox_warmpool_size",
    help: "Sandboxes that wait in warm pools, by how they are.",
    labelNames: ["namespace", "warmpool_name", "sandbox_template", "sandbox_status"],
    registers: [registry],
    collect() {
      this.reset();
      for (const sandbox of list()) {
        const pool = controllingPool(sandbox);
        if (pool) this.inc(placeOf(sandbox, pool.name));
      }
    },
  });
}

const placeOf = (sandbox: Sandbox, pool: string) => ({
  namespace: sandbox.metadata.namespace ?? "",
  warmpool_name: pool,
  sandbox_template: templateName(sandbox) ?? "unknown",
  sandbox_status: statusWord(sandbox),
});

function statusWord(sandbox: Sandbox): "ready" | "pending" | "succeeded" | "failed" {
  const finished = findCondition(sandbox.status?.conditions, "Finished");
  if (finished?.status === "True") return finished.reason === "PodSucceeded" ? "succeeded" : "failed";
  return isReady(sandbox) ? "ready" : "pending";
}
