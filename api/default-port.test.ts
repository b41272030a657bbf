import { describe, expect, it } from "vitest";
import { defaultPort } from "./default-port.ts";

const main = { name: "main" };

describe("the port of a sandbox that a client names none of", () => {
  it("is the first one that a container declares", () => {
    const containers = [main, { name: "web", ports: [{ containerPort: 3000 }, { containerPort: 4000 }] }];
    expect(defaultPort({ containers })).toBe(3000);
  });

  it("is one that can be connected to", () => {
    const ports = [
      { containerPort: 53, protocol: "UDP" },
      { containerPort: 0 },
      { containerPort: 8080, protocol: "TCP" },
    ];
    expect(defaultPort({ containers: [{ ...main, ports }] })).toBe(8080);
  });

  it("is 8888 when no container declares any", () => {
    expect(defaultPort({ containers: [main] })).toBe(8888);
  });
});
