import { describe, expect, it } from "vitest";
import type { Container, ContainerPort } from "../../../api/kinds/pod.ts";
import { frontPorts, hasPorts, servicePorts } from "./service-ports.ts";

const container = (ports: readonly ContainerPort[], more: Partial<Container> = {}): Container => ({
  name: "main",
  ports,
  ...more,
});
const named = (...containers: readonly Container[]) =>
  servicePorts({ containers }).map(({ name, port, protocol }) => `${name} ${port}/${protocol}`);

describe("the ports of a Service", () => {
  it("are those of containers and sidecars, by number and protocol", () => {
    const http = container([
      { containerPort: 80, protocol: "UDP" },
      { containerPort: 80, name: "http" },
    ]);
    const initContainers = [
      container([{ containerPort: 9090 }], { restartPolicy: "Always" }),
      container([{ containerPort: 7070 }]),
    ];
    expect(servicePorts({ containers: [http], initContainers })).toEqual([
      { name: "http", port: 80, protocol: "TCP", targetPort: 80 },
      { name: "p-80-udp", port: 80, protocol: "UDP", targetPort: 80 },
      { name: "p-9090-tcp", port: 9090, protocol: "TCP", targetPort: 9090 },
    ]);
  });

  it("keep a name that two ask for with the first", () => {
    const first = container([{ containerPort: 8080, name: "http" }]);
    const second = container([{ containerPort: 9090, name: "http" }]);
    expect(named(first, second)).toEqual(["http 8080/TCP", "p-9090-tcp 9090/TCP"]);
  });

  it("get no generated name that was given to another", () => {
    expect(named(container([{ containerPort: 8080 }, { containerPort: 9090, name: "p-8080-tcp" }]))).toEqual([
      "p-8080-tcp-2 8080/TCP",
      "p-8080-tcp 9090/TCP",
    ]);
  });

  it("are absent when no container declares any", () => {
    expect(named(container([]), container([{ containerPort: 0 }]))).toEqual([]);
  });

  it("are listed once for any number of declarations, by their first name", () => {
    const first = container([{ containerPort: 8080 }]);
    const second = container([{ containerPort: 8080, protocol: "TCP", name: "http" }]);
    expect(named(first, second)).toEqual(["http 8080/TCP"]);
  });

  it("are made once for a version of a sandbox, however often a pass asks", () => {
    let reads = 0;
    const ports = [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }];
    const declaring = {
      name: "main",
      get ports() {
        reads += 1;
        return ports;
      },
    };
    const spec = { containers: [declaring] };
    for (let pass = 0; pass < 3; pass += 1)
      expect([servicePorts(spec).length, frontPorts(spec).length]).toEqual([2, 1]);
    expect(reads).toBe(1);
    expect(servicePorts({ containers: [container(ports)] })).toEqual(servicePorts(spec));
  });
});

describe("the ports that a Service has", () => {
  const wanted = servicePorts({ containers: [container([{ containerPort: 80, name: "http" }])] });

  it.each([
    [{ name: "http", port: 80, protocol: "TCP", targetPort: 80, nodePort: 30_080 }],
    [{ name: "http", port: 80 }],
    [{ name: "http", port: 80, protocol: "" }],
  ])("are those that it should have, whatever the server adds or leaves out: %j", (port) => {
    expect(hasPorts([port], wanted)).toBe(true);
  });

  it.each([
    [[]],
    [[{ port: 80 }]],
    [[{ name: "http", port: 81 }]],
    [[{ name: "http", port: 80, protocol: "UDP" }]],
    [[{ name: "http", port: 80, targetPort: "http" }]],
    [[...wanted, ...wanted]],
  ])("are others if one differs: %j", (ports) => {
    expect(hasPorts(ports, wanted)).toBe(false);
  });
});
