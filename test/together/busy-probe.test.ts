import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { startActivator } from "../../activator/start.ts";
import { eventType } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { KnownActivators } from "../../controller/suspension/activators/activators.ts";
import { drainCalls } from "../../controller/suspension/activators/drain-client.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { readyStatus } from "../support/builders/builders.ts";
import { startFakeKubelet } from "../support/fakes/fake-kubelet.ts";
import { openMemoryApi } from "../support/memory-api.ts";

/** The only address on which the workload accepts. */
const reachable = "127.0.0.1";
/** An address without a server. It stands for a Pod whose NetworkPolicy does not admit the client. */
const kept = "127.0.0.9";
const where = { namespace: "default", name: "nova" };
const waiting = { timeout: 30_000, interval: 20 };

/** A client of a program that no NetworkPolicy admits. */
function keptOut(client: KubeClient): KubeClient {
  const seen = <T extends KubeObject>(object: Stored<T>): Stored<T> => {
    const { status } = object as Stored<Pod>;
    return status?.podIP ? { ...object, status: { ...status, podIP: kept, podIPs: [{ ip: kept }] } } : object;
  };
  return {
    get: async (...asked) => seen(await client.get(...asked)),
    patch: async (...asked) => seen(await client.patch(...asked)),
    create: (...asked) => client.create(...asked),
    replace: (...asked) => client.replace(...asked),
    delete: (...asked) => client.delete(...asked),
    async list(...asked) {
      const list = await client.list(...asked);
      return { ...list, items: list.items.map(seen) };
    },
    async *watch(...asked) {
      for await (const event of client.watch(...asked)) {
        const tellsObject = event.type === "ADDED" || event.type === "MODIFIED" || event.type === "DELETED";
        yield tellsObject ? { ...event, object: seen(event.object) } : event;
      }
    },
  };
}

async function startWorkload() {
  const state = { status: 503, asked: 0 };
  const server = createServer((_request, response) => {
    state.asked += 1;
    response.writeHead(state.status).end();
  }).listen(0, reachable);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { state, port, [Symbol.asyncDispose]: async () => void server.close() };
}

const controllerConfig = parseControllerConfig([
  "--leader-elect=false",
  "--enable-webhook=false",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=0",
]);
const activatorConfig = parseActivatorConfig([
  "--http-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--metrics-bind-address=",
  "--drain-bind-address=127.0.0.1:0",
  "--authz-mode=allow-all",
  "--allow-loopback-pod-ip",
]);

it("a workload that admits only activators stays awake while it is busy, and is suspended afterwards", {
  timeout: 90_000,
}, async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  await using workload = await startWorkload();
  await using _kubelet = startFakeKubelet(client, {
    ...readyStatus,
    podIP: reachable,
    podIPs: [{ ip: reachable }],
  });
  const parts = { clock: systemClock, log: silentLogger };
  await using activator = await startActivator(activatorConfig, { ...parts, client, registry: new Registry() });
  const finder = new KnownActivators();
  finder.are([{ id: "one", host: "127.0.0.1", port: activator.drainPort ?? 0 }]);
  await using controller = await startController(controllerConfig, {
    ...{ ...parts, client: keptOut(client), registry: new Registry(), identity: "lab" },
    activators: { finder, call: drainCalls(() => undefined, systemClock) },
  });
  await controller.synced;
  await client.create(sandboxType, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: where,
    spec: {
      podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } },
      autoSuspension: { inactivityTimeoutSeconds: 1, busyProbe: { httpGet: { path: "/busy", port: workload.port } } },
    },
  });

  // The second probe comes ten seconds after the answer to the first one.
  await vi.waitFor(() => expect(workload.state.asked).toBeGreaterThan(1), waiting);
  expect((await client.get(sandboxType, where)).spec.operatingMode).not.toBe("Suspended");
  workload.state.status = 200;
  await vi.waitFor(async () => expect(isSuspensionComplete(await client.get(sandboxType, where))).toBe(true), waiting);
  const { items } = await client.list(eventType, { namespace: where.namespace });
  expect(items.map(({ reason }) => reason)).not.toContain("BusyProbeUnanswered");
});
