import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { type EndpointSlice, tcpFrontPorts, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import type { Service } from "../../api/kinds/core.ts";
import { type KubeObject, keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { Turns } from "../../lib/time/turns.ts";
import { aSandbox, aServiceOf } from "../../test/support/builders/builders.ts";
import { feedInformer } from "../../test/support/fakes/fed-informer.ts";
import { ScriptedActivators } from "../../test/support/labs/front-lab.ts";
import { createRuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { chooseEndpoints } from "./choose-endpoints.ts";
import { freshSlice } from "./make-slice.ts";
import { PortShortages } from "./port-shortages.ts";
import { startTcpFrontController } from "./start-tcp-front-controller.ts";
import { TcpFrontMetrics } from "./tcp-front-metrics.ts";

const writesPerSecond = 200;

const never = async (): Promise<never> => {
  throw new Error("unexpected call");
};

/** So many sandboxes whose slices are as a former leader left them; what is written is seen at once. */
function aWorldOf(count: number, { perNamespace = 22_000 } = {}) {
  const clock = new FakeClock();
  const activators = new ScriptedActivators();
  activators.are({ address: "10.0.0.1" });
  const sandboxes = feedInformer<Sandbox, "uid">({ uid: ({ metadata }) => [metadata.uid] });
  const services = feedInformer<Service>({});
  const slices = feedInformer<EndpointSlice>({});
  const written: Stored<EndpointSlice>[] = [];
  const add = (at: number) => {
    const sandbox = aSandbox({ service: true, autoResume: {} }, { name: `nova-${at}` });
    const { selector: _, ...spec } = aServiceOf(sandbox).spec ?? {};
    sandboxes.feed.set(sandbox);
    services.feed.set({ ...aServiceOf(sandbox), spec: { ...spec, clusterIP: "10.1.0.1" } });
    return sandbox;
  };
  for (let at = 0; at < count; at += 1) slices.feed.set(asLeft(add(at), tcpFrontPorts.first + at, activators));
  const write = async <T extends KubeObject>(_type: unknown, object: T): Promise<Stored<T>> => {
    const { metadata } = object;
    const resourceVersion = String(100 + written.length);
    const stored = { uid: `uid-of-${metadata.name}`, creationTimestamp: clock.now().toISOString(), ...metadata };
    const result = { ...object, metadata: { ...stored, resourceVersion } } as unknown as Stored<T>;
    written.push(result as unknown as Stored<EndpointSlice>);
    slices.feed.set(result as unknown as Stored<EndpointSlice>);
    return result;
  };
  const client: KubeClient = {
    ...{ create: write, replace: write, get: never, list: never, patch: never },
    delete: async (_type, { namespace, name }) => {
      const slice = slices.informer.store.get(keyFor(namespace, name));
      if (slice) slices.feed.unset(slice);
    },
    async *watch() {},
  };
  const registry = new Registry();
  const controller = startTcpFrontController({
    ...{ client, clock, log: silentLogger, events: undefined, turns: new Turns(clock) },
    informers: { sandboxes: sandboxes.informer, services: services.informer, slices: slices.informer },
    activators: { finder: activators, call: activators.call },
    settings: { quarantineMs: 600_000, writesPerSecond, limits: { perSandbox: 32, perNamespace } },
    shortages: new PortShortages(),
    metrics: new TcpFrontMetrics(registry),
    runtimeMetrics: createRuntimeMetrics(registry, clock),
  });
  const reconciles = async () => {
    const metric = await registry.getSingleMetric("controller_runtime_reconcile_total")?.get();
    return metric?.values.reduce((sum, { value }) => sum + value, 0);
  };
  return { clock, activators, written, add, sandboxes, slices, controller, reconciles };
}

function asLeft(
  sandbox: Stored<Sandbox>,
  activatorPort: number,
  activators: ScriptedActivators,
): Stored<EndpointSlice> {
  const { name, uid } = sandbox.metadata;
  const ports = [{ name: "p-8888-tcp", containerPort: 8888, activatorPort }];
  const seen = activators.known().flatMap(({ endpoint }) => {
    return endpoint ? [{ endpoint, listensOn: new Set([activatorPort]) }] : [];
  });
  const slice = freshSlice(sandbox, { sandboxName: name, sandboxUid: uid, ports }, "IPv4", {
    service: name,
    ...chooseEndpoints(ports, seen, "IPv4"),
  });
  const { name: sliceName = "" } = slice.metadata;
  const stored = { name: sliceName, uid: `uid-of-${sliceName}`, resourceVersion: "1" };
  return { ...slice, metadata: { ...slice.metadata, ...stored, creationTimestamp: "2026-01-01T12:00:00Z" } };
}

describe("ten thousand sandboxes", () => {
  const count = 10_000;

  it("cost no write when a leader begins, and follow a roll-out of activators one by one, new ones first", async () => {
    const { clock, activators, written, add, slices, controller } = aWorldOf(count);
    await using _ = controller;
    await clock.advance(60_000);
    expect(written.length).toBe(0);
    // All confirmed again in bulk, by few calls, and then no more.
    const asked = activators.asked.length;
    expect(asked).toBeLessThan(10);
    await clock.advance(3_600_000);
    expect([written.length, activators.asked.length]).toEqual([0, asked]);

    activators.are({ address: "10.0.0.2" });
    await clock.advance(1_000);
    expect(written.length).toBeLessThanOrEqual(2 * writesPerSecond);
    const fresh = add(count);
    await clock.advance(1_000);
    expect(slices.informer.store.get(`lab/tcp-front-${fresh.metadata.uid}`)?.endpoints?.length).toBe(1);
    expect(written.length).toBeLessThanOrEqual(3 * writesPerSecond);
    await clock.advance((count / writesPerSecond) * 1_000 + 1_000);
    // Those that came before anything was confirmed lead nowhere first.
    expect(written.length).toBeLessThan(count + 2 * writesPerSecond);
    const leading = slices.informer.store.list().flatMap(({ endpoints }) => endpoints ?? []);
    expect(new Set(leading.flatMap(({ addresses }) => addresses))).toEqual(new Set(["10.0.0.2"]));
  }, 60_000);
});

describe("a thousand sandboxes that wait for activator ports", () => {
  it.each([
    { limit: "of their namespace", count: 10, perNamespace: 10 },
    { limit: "of the range", count: 22_000, perNamespace: 30_000 },
  ])(
    "that are all in use $limit are not reconciled until one is free, and then one is",
    async (given) => {
      const { clock, add, sandboxes, slices, controller, reconciles } = aWorldOf(given.count, given);
      await using _ = controller;
      await clock.advance(60_000);
      for (let at = 0; at < 1_000; at += 1) add(given.count + at);
      await clock.advance(60_000);
      const before = await reconciles();
      await clock.advance(3_600_000);
      expect(await reconciles()).toBe(before);
      const gone = sandboxes.informer.store.get("lab/nova-0");
      if (gone) sandboxes.feed.unset(gone);
      await clock.advance(599_000);
      expect(slices.informer.store.list()).toHaveLength(given.count);
      await clock.advance(5_000);
      const uids = slices.informer.store.list().map(({ metadata }) => metadata.name);
      expect(uids).toHaveLength(given.count);
      const first = sandboxes.informer.store.get(`lab/nova-${given.count}`);
      expect(uids).toContain(tcpFrontSliceName(first?.metadata.uid ?? ""));
      expect(await reconciles()).toBeLessThan((before ?? 0) + 20);
    },
    60_000,
  );
});
