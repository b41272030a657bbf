import { expect, it } from "vitest";
import type { EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { nextLoopbackAddress } from "../../test/support/sockets/loopback-address.ts";
import { ProxiedConnections } from "./service-listener.ts";
import { ServiceListeners } from "./service-listeners.ts";
import { routesOf } from "./service-routes.ts";

const targets = [{ host: "127.0.0.1", port: 1 }];
const routesAt = (address: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ address, port: 20_000 + index, targets }));

it("all Services together have a bounded number of listeners, and a Service that ends gives its own back", async () => {
  using connections = new ProxiedConnections(new FakeClock(), 10);
  await using listeners = new ServiceListeners(connections, 5);
  await listeners.follow("a/one", routesAt(nextLoopbackAddress(), 3));
  const address = nextLoopbackAddress();
  await expect(listeners.follow("a/two", routesAt(address, 3))).rejects.toThrow("5 ports of Services have a listener");
  await listeners.follow("a/one", []);
  await listeners.follow("a/two", routesAt(address, 3));
});

it("a Service has at most 100 ports with a listener", () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `p${index}`);
  const service: Service = {
    metadata: { name: "wide", namespace: "a" },
    spec: { clusterIP: "127.96.0.9", ports: names.map((name, index) => ({ name, port: index + 1 })) },
  };
  const slice: EndpointSlice = {
    metadata: { name: "wide-1", namespace: "a" },
    addressType: "IPv4",
    endpoints: [{ addresses: ["127.0.0.1"] }],
    ports: names.map((name, index) => ({ name, port: index + 1 })),
  };
  expect(routesOf(service, [slice])).toHaveLength(100);
});
