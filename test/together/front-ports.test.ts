import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { tcpFrontPorts } from "../../api/between-programs/tcp-front.ts";

const read = (path: string) => readFileSync(path, "utf8");

it("the chart's NetworkPolicy admits exactly the range of activator ports", () => {
  const policy = read("charts/rouse/templates/activator/network-policy.yaml");
  const ranges = [...policy.matchAll(/port: (\d+)\s+endPort: (\d+)/g)].map(([, first, last]) => [first, last]);
  expect(ranges).toEqual([[String(tcpFrontPorts.first), String(tcpFrontPorts.last)]]);
});

it("outgoing connections of Linux never use an activator port (ip_local_port_range)", () => {
  expect(tcpFrontPorts.last).toBeLessThan(32_768);
});
