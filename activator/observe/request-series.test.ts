import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { NamespaceLabels } from "./namespace-labels.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { RequestSeries } from "./request-series.ts";

function given() {
  const registry = new Registry();
  const clock = new FakeClock();
  const populated = new Set<string>(["lab"]);
  const namespaces = new NamespaceLabels({ clock, hasSandboxes: (namespace) => populated.has(namespace) });
  return { registry, clock, populated, namespaces };
}

/** The lines of one metric. */
async function linesOf(registry: Registry, name: string): Promise<readonly string[]> {
  return (await registry.getSingleMetricAsString(name)).split("\n").filter((line) => line.startsWith(`${name}{`));
}

describe("the series of requests", () => {
  it("count each request once, by duration, method, status and namespace", async () => {
    const { registry, namespaces } = given();
    const series = new RequestSeries(registry, namespaces);
    series.ended("GET", 200, "lab", 0.004);
    series.ended("GET", 200, "lab", 0.3);
    series.ended("GET", 200, "lab", 999);
    series.ended("POST", 502, "-", 0.005);
    for (let scrape = 0; scrape < 2; scrape += 1) {
      const text = await registry.metrics();
      const labels = 'method="GET",code="200",sandbox_namespace="lab"';
      const name = "sandbox_router_request_duration_seconds";
      expect(text).toContain(`sandbox_router_requests_total{${labels}} 3\n`);
      expect(text).toContain(`${name}_bucket{le="0.005",${labels}} 1\n`);
      expect(text).toContain(`${name}_bucket{le="0.5",${labels}} 2\n`);
      expect(text).toContain(`${name}_bucket{le="+Inf",${labels}} 3\n`);
      expect(text).toContain(`${name}_sum{${labels}} 999.304\n`);
      expect(text).toContain(`${name}_count{${labels}} 3\n`);
      expect(text).toContain(`${name}_bucket{le="0.005",method="POST",code="502",sandbox_namespace="-"} 1\n`);
      expect(text).toContain(`# TYPE ${name} histogram\n`);
    }
  });

  it("have a label per registered status, and per class of the others", async () => {
    const { registry, namespaces } = given();
    const series = new RequestSeries(registry, namespaces);
    for (const status of [200, 299, 298, 418, 599, 600, 999]) series.ended("GET", status, "lab", 0);
    const lines = await linesOf(registry, "sandbox_router_requests_total");
    expect(lines.map((line) => /code="(\w+)".* (\d+)$/.exec(line)?.slice(1).join(": "))).toEqual(
      expect.arrayContaining(["200: 1", "2xx: 2", "4xx: 1", "5xx: 1", "other: 2"]),
    );
    expect(lines).toHaveLength(5);
  });

  it("are bounded for each namespace, for any statuses and methods", async () => {
    const { registry, namespaces } = given();
    const metrics = new RequestMetrics(registry, "1", namespaces);
    for (let status = 100; status < 1_000; status += 1) {
      for (const method of ["GET", "POST", "PUT", "BREW", `M${status}`]) metrics.ended(method, status, "lab", 0);
    }
    const lines = await linesOf(registry, "sandbox_router_requests_total");
    expect(lines.length).toBeLessThanOrEqual(106);
    const counted = lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    expect(counted).toBe(900 * 5);
  });

  it("are bounded in total, for any number of namespaces", async () => {
    const { registry, namespaces } = given();
    const metrics = new RequestMetrics(registry, "1", namespaces);
    for (let count = 0; count < 3_000; count += 1) {
      const namespace = `lab-${count}`;
      for (const status of [200, 201, 204, 301, 400, 404, 500, 502]) metrics.ended("GET", status, namespace, 0);
      metrics.upstreamFailed(namespace, "eof");
      metrics.retried(namespace);
      metrics.decided(namespace, "allow");
      metrics.decided(namespace, "deny");
    }
    expect((await linesOf(registry, "sandbox_router_requests_total")).length).toBeLessThanOrEqual(5_006);
    for (const name of ["upstream_errors_total", "upstream_retries_total"]) {
      expect(await linesOf(registry, `sandbox_router_${name}`)).toHaveLength(1_001);
    }
    expect(await linesOf(registry, "sandbox_router_authz_decisions_total")).toHaveLength(2_002);
  });

  it("of a namespace without a sandbox for an hour are removed", async () => {
    const { registry, clock, populated, namespaces } = given();
    const metrics = new RequestMetrics(registry, "1", namespaces);
    metrics.ended("GET", 200, "lab", 0);
    metrics.upstreamFailed("lab", "eof");
    metrics.retried("lab");
    metrics.decided("lab", "allow");
    await clock.advance(3_600_000);
    expect(await registry.metrics()).toContain('sandbox_namespace="lab"');
    populated.delete("lab");
    await clock.advance(3_599_999);
    expect(await registry.metrics()).toContain('sandbox_namespace="lab"');
    await clock.advance(1);
    expect(await registry.metrics()).not.toContain('sandbox_namespace="lab"');
    metrics.ended("GET", 200, "lab", 0);
    expect(await linesOf(registry, "sandbox_router_requests_total")).toHaveLength(1);
  });
});
