import { expect, it } from "vitest";
import { serviceVariables } from "./service-variables.ts";

it("a Service has variables for its address and ports, and those of Docker's links", () => {
  const ports = [
    { name: "sql", port: 5432 },
    { name: "dns-x", port: 53, protocol: "UDP" },
  ];
  expect(serviceVariables([{ metadata: { name: "my-db" }, spec: { clusterIP: "127.96.0.1", ports } }])).toEqual({
    MY_DB_SERVICE_HOST: "127.96.0.1",
    MY_DB_SERVICE_PORT: "5432",
    MY_DB_SERVICE_PORT_SQL: "5432",
    MY_DB_SERVICE_PORT_DNS_X: "53",
    MY_DB_PORT: "tcp://127.96.0.1:5432",
    MY_DB_PORT_5432_TCP: "tcp://127.96.0.1:5432",
    MY_DB_PORT_5432_TCP_PROTO: "tcp",
    MY_DB_PORT_5432_TCP_PORT: "5432",
    MY_DB_PORT_5432_TCP_ADDR: "127.96.0.1",
    MY_DB_PORT_53_UDP: "udp://127.96.0.1:53",
    MY_DB_PORT_53_UDP_PROTO: "udp",
    MY_DB_PORT_53_UDP_PORT: "53",
    MY_DB_PORT_53_UDP_ADDR: "127.96.0.1",
  });
});

it.each([{ clusterIP: "None" }, { type: "ExternalName" }, {}])(
  "a Service without an address has no variables: %o",
  (spec) => {
    expect(serviceVariables([{ metadata: { name: "a" }, spec: { ...spec, ports: [{ port: 80 }] } }])).toEqual({});
  },
);
