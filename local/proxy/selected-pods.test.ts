import { expect, it } from "vitest";
import type { Pod, Service } from "../../api/kinds/core.ts";
import { slicesOfSelected } from "./selected-pods.ts";
import { routesOf } from "./service-routes.ts";

const aPod = (podIP: string, status: Pod["status"] = {}, metadata: Pod["metadata"] = {}): Pod => ({
  metadata: { labels: { app: "nova", tier: "gold" }, ...metadata },
  spec: { containers: [{ name: "main", ports: [{ name: "web", containerPort: Number(podIP.split(".")[3]) }] }] },
  status: { podIP, phase: "Running", conditions: [{ type: "Ready", status: "True" }], ...status },
});

const targetsOf = (pods: readonly Pod[], spec: NonNullable<Service["spec"]> = {}): readonly string[] => {
  const ports = [{ port: 80, targetPort: "web" }];
  const service = { metadata: {}, spec: { clusterIP: "127.96.0.1", selector: { app: "nova" }, ports, ...spec } };
  return routesOf(service, slicesOfSelected(service, pods)).flatMap(({ targets }) =>
    targets.map(({ host, port }) => `${host}:${port}`),
  );
};

const notReady = { conditions: [{ type: "Ready", status: "False" }] } as const;

it("a named port is the port of that name in each Pod", () => {
  expect(targetsOf([aPod("127.64.0.8"), aPod("127.64.0.9")])).toEqual(["127.64.0.8:8", "127.64.0.9:9"]);
});

it.each<[string, Service["spec"], string]>([
  ["the number that it says", { ports: [{ port: 80, targetPort: 8080 }] }, "127.64.0.8:8080"],
  ["its own number", { ports: [{ port: 80 }] }, "127.64.0.8:80"],
])("a port of the Service means %s", (_case, spec, target) => {
  expect(targetsOf([aPod("127.64.0.8")], spec)).toEqual([target]);
});

it.each<[string, Pod]>([
  ["has other labels", aPod("127.64.0.8", {}, { labels: { app: "other" } })],
  ["has ended", aPod("127.64.0.8", { phase: "Succeeded" })],
  ["is not ready", aPod("127.64.0.8", notReady)],
  ["has no such port", { ...aPod("127.64.0.8"), spec: { containers: [{ name: "main" }] } }],
])("a Pod that %s is not served", (_case, pod) => {
  expect(targetsOf([pod])).toEqual([]);
});

it("Pods that are not ready are listed where the Service asks for that", () => {
  expect(targetsOf([aPod("127.64.0.8", notReady)], { publishNotReadyAddresses: true })).toEqual(["127.64.0.8:8"]);
});

it("a terminating Pod is used only if there is no other", () => {
  const leaving = aPod("127.64.0.8", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  expect(targetsOf([leaving])).toEqual(["127.64.0.8:8"]);
  expect(targetsOf([leaving, aPod("127.64.0.9")])).toEqual(["127.64.0.9:9"]);
});

it("an empty selector selects nothing", () => {
  expect(targetsOf([aPod("127.64.0.8")], { selector: {} })).toEqual([]);
});
