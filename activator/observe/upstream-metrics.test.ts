import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { ProbeBudget } from "../readiness/probe-budget.ts";
import { createUpstreamMetrics } from "./upstream-metrics.ts";

it("metrics report idle and probing connections to Pods, and waiting attempts", async () => {
  const registry = new Registry();
  const limits = { rate: { perSecond: 1, burst: 2 }, openMax: 10, openOfNamespaceMax: 10 };
  const budget = new ProbeBudget(new FakeClock(), limits);
  createUpstreamMetrics(registry, { budget, pool: { size: 7, evicted: 5 } });
  const leaving = new AbortController();
  const attempts = Array.from({ length: 5 }, () => budget.take("a", { count: 1, isFirst: true }, leaving.signal));
  const text = await registry.metrics();
  expect(text).toContain("rouse_activator_probe_connections 2\n");
  expect(text).toContain("rouse_activator_probe_attempts_waiting 3\n");
  expect(text).toContain("rouse_activator_idle_upstream_connections 7\n");
  expect(text).toContain("rouse_activator_idle_upstream_evicted_total 5\n");
  await registry.metrics();
  expect(await registry.metrics()).toContain("rouse_activator_idle_upstream_evicted_total 5\n");
  leaving.abort();
  await Promise.allSettled(attempts);
});
