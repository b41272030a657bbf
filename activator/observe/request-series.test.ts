import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { RequestSeries } from "./request-series.ts";

describe("the series of requests", () => {
  it("count each request once, in the buckets of its duration, by method, status and namespace", async () => {
    const registry = new Registry();
    const series = new RequestSeries(registry);
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
});
