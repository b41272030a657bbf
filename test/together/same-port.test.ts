import { describe, expect, it } from "vitest";
import type { Container, ContainerPort } from "../../api/kinds/core.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import { frontPorts } from "../../controller/sandbox/service/service-ports.ts";

/** All ways to declare a port in a manifest, with missing and unusual fields. */
const ports: readonly ContainerPort[] = [
  { containerPort: 5432, protocol: "" },
  { containerPort: 3000 },
  { containerPort: 53, protocol: "UDP" },
  { containerPort: 0 },
];
const declarations = [[], ...ports.map((port) => [port]), ...ports.map((port) => [...ports, port].reverse())];

const inContainer = (ports: ContainerPort[]) => ({ containers: [{ name: "main", ports }] });
const inSidecar = (ports: ContainerPort[]) => ({
  containers: [{ name: "main" }],
  initContainers: [{ name: "proxy", restartPolicy: "Always", ports }] satisfies Container[],
});

describe("a sandbox's host name without a port", () => {
  it.each(declarations.flatMap((ports) => [inContainer(ports), inSidecar(ports)]))(
    "leads to a port of its Service: %j",
    (spec) => {
      expect(frontPorts(spec).map(({ port }) => port)).toContain(defaultPort(spec));
    },
  );
});
