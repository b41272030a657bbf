import { Counter, Gauge, type Registry } from "prom-client";
import type { Pool } from "../pod-connections/pool.ts";
import type { ProbeBudget } from "../readiness/probe-budget.ts";

export interface UpstreamParts {
  readonly budget: Pick<ProbeBudget, "waiting" | "open">;
  readonly pool: Pick<Pool, "size" | "evicted">;
}

/** Reports the connections of this replica to Pods that no request uses. */
export function createUpstreamMetrics(registry: Registry, { budget, pool }: UpstreamParts): void {
  const registers = [registry];
  new Gauge({
    name: "rouse_activator_probe_connections",
    help: "Current number of connections that try ports of Pods and run their readiness probes.",
    registers,
    collect() {
      this.set(budget.open);
    },
  });
  new Gauge({
    name: "rouse_activator_probe_attempts_waiting",
    help: "Current number of attempts to reach a port that wait for the probe budget of the replica.",
    registers,
    collect() {
      this.set(budget.waiting);
    },
  });
  new Gauge({
    name: "rouse_activator_idle_upstream_connections",
    help: "Current number of idle HTTP/1.1 connections to Pods.",
    registers,
    collect() {
      this.set(pool.size);
    },
  });
  new Counter({
    name: "rouse_activator_idle_upstream_evicted_total",
    help: "Idle HTTP/1.1 connections to Pods that were closed because a limit was reached.",
    registers,
    collect() {
      this.reset();
      this.inc(pool.evicted);
    },
  });
}
