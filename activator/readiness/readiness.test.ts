import { describe, expect, it } from "vitest";
import type { Container, Pod } from "../../api/kinds/core.ts";
import { readinessOf } from "./readiness.ts";

const main: Container = { name: "main", image: "program", ports: [{ name: "web", containerPort: 8080 }] };
const aPod = (container: Partial<Container>): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "nova" },
  spec: { containers: [{ ...main, ...container }] },
});
const probesOf = (container: Partial<Container>) => readinessOf(aPod(container), "Auto");

describe("a readiness probe", () => {
  it.each([
    { port: 8080, known: true },
    { port: "web", known: true },
    { port: "another", known: false },
  ])("of port $port is run by the activator if the container has that port: $known", ({ port, known }) => {
    const readiness = probesOf({ readinessProbe: { tcpSocket: { port } } });
    const probed = { is: "probed", probes: [{ port: 8080, timeoutMs: 1_000 }] };
    expect(readiness).toEqual(known ? probed : { is: "podReady" });
  });

  it("over HTTP is run by the activator with its port, path and time", () => {
    const readiness = probesOf({ readinessProbe: { httpGet: { port: "web", path: "/ready" }, timeoutSeconds: 2 } });
    const probe = { port: 8080, timeoutMs: 2_000, httpGet: { path: "/ready", httpHeaders: [] } };
    expect(readiness).toEqual({ is: "probed", probes: [probe] });
  });
});
