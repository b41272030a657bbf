import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { tcpFrontPorts } from "../../api/protocols/tcp-front.ts";

const read = (path: string) => readFileSync(path, "utf8");

it("the chart's NetworkPolicy lets in exactly the ports that may stand for sandboxes", () => {
  const policy = read("charts/rouse/templates/activator/network-policy.yaml");
  const ranges = [...policy.matchAll(/port: (\d+)\s+endPort: (\d+)/g)].map(([, first, last]) => [first, last]);
  expect(ranges).toEqual([[String(tcpFrontPorts.first), String(tcpFrontPorts.last)]]);
});

it("an outgoing connection of Linux never has a port that may stand for a sandbox (ip_local_port_range)", () => {
  expect(tcpFrontPorts.last).toBeLessThan(32_768);
});
