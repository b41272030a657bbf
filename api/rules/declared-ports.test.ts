import { describe, expect, it } from "vitest";
import { declaredPorts, defaultPort } from "./declared-ports.ts";

const main = { name: "main" };

describe("the port that a client means if it names no port", () => {
  it("is the first port that a container declares", () => {
    const containers = [main, { name: "web", ports: [{ containerPort: 3000 }, { containerPort: 4000 }] }];
    expect(defaultPort({ containers })).toBe(3000);
  });

  it("is a port that can be connected to", () => {
    const ports = [
      { containerPort: 53, protocol: "UDP" },
      { containerPort: 0 },
      { containerPort: -1 },
      { containerPort: 65_536 },
      { containerPort: 8080, protocol: "TCP" },
    ];
    expect(defaultPort({ containers: [{ ...main, ports }] })).toBe(8080);
  });

  it("takes an empty protocol for TCP", () => {
    expect(defaultPort({ containers: [{ ...main, ports: [{ containerPort: 5432, protocol: "" }] }] })).toBe(5432);
  });

  it("is a sidecar's if no container declares a TCP port", () => {
    const sidecar = { name: "proxy", restartPolicy: "Always", ports: [{ containerPort: 3000 }] };
    expect(defaultPort({ containers: [main], initContainers: [sidecar] })).toBe(3000);
  });

  it("is never an init container's that has ended by then", () => {
    const initContainers = [{ name: "seed", ports: [{ containerPort: 3000 }] }];
    expect(defaultPort({ containers: [main], initContainers })).toBe(8888);
  });

  it("is found once for each Pod spec, however many ports it declares", () => {
    let reads = 0;
    const ports = [{ containerPort: 53, protocol: "UDP" }, { containerPort: 5432 }];
    const spec = {
      get containers() {
        reads += 1;
        return [{ ...main, ports }];
      },
    };
    for (let request = 0; request < 10; request += 1) expect(defaultPort(spec)).toBe(5432);
    expect(reads).toBe(1);
  });

  it("is 8888 if the Pod declares no port", () => {
    expect(defaultPort({ containers: [main] })).toBe(8888);
  });
});

describe("the ports that a Pod declares", () => {
  it("come in the order of its containers, then of its sidecars", () => {
    const initContainers = [{ name: "proxy", restartPolicy: "Always", ports: [{ containerPort: 1, name: "first" }] }];
    const containers = [{ ...main, ports: [{ containerPort: 3, protocol: "UDP" }, { containerPort: 2 }] }];
    expect(declaredPorts({ containers, initContainers })).toEqual([
      { port: 3, protocol: "UDP", name: "" },
      { port: 2, protocol: "TCP", name: "" },
      { port: 1, protocol: "TCP", name: "first" },
    ]);
  });
});
