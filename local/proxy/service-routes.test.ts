import { expect, it } from "vitest";
import type { Endpoint, EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";
import { routesOf } from "./service-routes.ts";

const service = (spec: NonNullable<Service["spec"]>): Service => ({ metadata: { name: "db" }, spec });
const slice = (endpoints: readonly Endpoint[], ports: EndpointSlice["ports"] = [{ port: 10_000 }]): EndpointSlice => ({
  metadata: { name: "db-1" },
  addressType: "IPv4",
  endpoints,
  ports,
});
const web = service({ clusterIP: "127.96.0.1", ports: [{ port: 80 }] });
const at = (host: string, conditions?: Endpoint["conditions"]): Endpoint => ({
  addresses: [host],
  ...(conditions && { conditions }),
});
const targetsOf = (...slices: readonly EndpointSlice[]) =>
  routesOf(web, slices).flatMap(({ targets }) => targets.map(({ host, port }) => `${host}:${port}`));

it("a port leads to the port of its name in every slice, on every address once", () => {
  const ports = [
    { name: "sql", port: 5432 },
    { name: "http", port: 80 },
  ];
  const listed = [
    slice(
      [at("127.0.0.2")],
      [
        { name: "http", port: 10_001 },
        { name: "sql", port: 10_000 },
      ],
    ),
    slice([at("127.0.0.3"), at("127.0.0.2")], [{ name: "sql", port: 10_000 }]),
  ];
  expect(routesOf(service({ clusterIP: "127.96.0.1", ports }), listed)).toEqual([
    {
      address: "127.96.0.1",
      port: 5432,
      targets: [
        { host: "127.0.0.2", port: 10_000 },
        { host: "127.0.0.3", port: 10_000 },
      ],
    },
    { address: "127.96.0.1", port: 80, targets: [{ host: "127.0.0.2", port: 10_001 }] },
  ]);
});

it("an endpoint without a ready condition is ready", () => {
  expect(targetsOf(slice([at("127.0.0.2"), at("127.0.0.3", {}), at("127.0.0.4", { ready: false })]))).toEqual([
    "127.0.0.2:10000",
    "127.0.0.3:10000",
  ]);
});

it("a terminating endpoint that still serves is used if none is ready", () => {
  const leaving = at("127.0.0.3", { ready: false, serving: true, terminating: true });
  expect(targetsOf(slice([at("127.0.0.2"), leaving]))).toEqual(["127.0.0.2:10000"]);
  expect(targetsOf(slice([at("127.0.0.2", { ready: false }), leaving]))).toEqual(["127.0.0.3:10000"]);
});

it.each<[string, Service, readonly EndpointSlice[]]>([
  ["nothing behind it", web, []],
  ["nothing ready behind it", web, [slice([at("127.0.0.2", { ready: false })])]],
  ["another name for its port in its slices", web, [slice([at("127.0.0.2")], [{ name: "http", port: 1 }])]],
  ["no address", service({ clusterIP: "None", ports: [{ port: 80 }] }), [slice([at("127.0.0.2")])]],
  [
    "another protocol",
    service({ clusterIP: "127.96.0.1", ports: [{ port: 80, protocol: "UDP" }] }),
    [slice([at("127.0.0.2")])],
  ],
])("a Service with %s has no route", (_case, service, slices) => {
  expect(routesOf(service, slices)).toEqual([]);
});

it.each([65_536, -1, 0, 1.5, 99_999_999])("an endpoint with the port %d is not used", (port) => {
  expect(targetsOf(slice([at("127.0.0.2")], [{ port }]))).toEqual([]);
});

it.each(["a\u0000b", "localhost", "::1", "127.1"])("an endpoint with the address %j is not used", (host) => {
  expect(targetsOf(slice([at(host), at("127.0.0.2")]))).toEqual(["127.0.0.2:10000"]);
});
