import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createTcpMetrics } from "./tcp-metrics.ts";

it("each outcome, reason and state of TCP connections is a series from the start", async () => {
  const registry = new Registry();
  createTcpMetrics(registry, { listeners: () => 0 });
  const lines = (await registry.metrics()).split("\n");
  const labelled = lines.filter((line) => line.includes("{"));
  expect(labelled.filter((line) => !line.endsWith("} 0"))).toEqual([]);
  expect(labelled.map((line) => line.slice(0, line.indexOf("}")))).toEqual(
    expect.arrayContaining([
      'rouse_activator_tcp_connections_total{outcome="closedForSleep"',
      'rouse_activator_tcp_connections{state="waiting"',
      'rouse_activator_tcp_refused_total{reason="NoPod"',
    ]),
  );
});
