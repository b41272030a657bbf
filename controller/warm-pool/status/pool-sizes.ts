import { Gauge, type Registry } from "prom-client";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { NamesAtAScrape, type TenantLabels } from "../../metrics/tenant-series.ts";
import { nameOnly, templateName } from "../../sandbox/metrics/metric-labels.ts";
import { controllingPool, isReady } from "../members.ts";

/** Registers `agent_sandbox_warmpool_size`, which counts the members of pools among what `list` returns at every scrape. */
export function registerPoolSizes(registry: Registry, list: () => readonly Sandbox[]): void {
  new Gauge({
    name: "agent_sandbox_warmpool_size",
    help: "Current number of unclaimed sandboxes in warm pools, by sandbox_status: ready, pending, succeeded or failed.",
    labelNames: ["namespace", "warmpool_name", "sandbox_template", "sandbox_status"],
    registers: [registry],
    collect() {
      this.reset();
      const names = new NamesAtAScrape();
      for (const sandbox of list()) {
        const pool = controllingPool(sandbox);
        if (pool) this.inc({ ...names.labels(placeOf(sandbox, pool.name)), sandbox_status: statusWord(sandbox) });
      }
    },
  });
}

/** Registers `rouse_warm_pools_not_progressing`, which asks `count` at every scrape. It has no labels, so no tenant makes it grow. */
export function registerPoolProgress(registry: Registry, count: () => number): void {
  new Gauge({
    name: "rouse_warm_pools_not_progressing",
    help: "Current number of warm pools that make no progress: the template or its NetworkPolicy is missing, the Pods are rejected or unschedulable, or the sandboxes do not become Ready.",
    registers: [registry],
    collect() {
      this.set(count());
    },
  });
}

/** The pool's name is from an owner reference, which any user may write. */
function placeOf(sandbox: Sandbox, pool: string): TenantLabels {
  const { namespace = "" } = sandbox.metadata;
  const sandbox_template = templateName(sandbox) ?? "unknown";
  return { namespace, named: { namespace, warmpool_name: nameOnly(pool) ?? "unknown", sandbox_template } };
}

function statusWord(sandbox: Sandbox): "ready" | "pending" | "succeeded" | "failed" {
  const finished = findCondition(sandbox.status?.conditions, "Finished");
  if (finished?.status === "True") return finished.reason === "PodSucceeded" ? "succeeded" : "failed";
  return isReady(sandbox) ? "ready" : "pending";
}
