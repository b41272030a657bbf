import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { FirstLists, type FirstListsDeps } from "../find/first-lists.ts";
import { ChangeSignal } from "../sandbox/change-signal.ts";
import { type FindByNameDeps, findByName } from "./find-by-name.ts";

const autoResume = { allowFrom: "Any" } as const;
const ports = [{ containerPort: 5432 }, { containerPort: 7000 }, { containerPort: 53, protocol: "UDP" }];
const containers = [{ name: "main", image: "program", ports }];
const nova = aSandbox({ autoResume, podTemplate: { spec: { containers } } }, { uid: "u1" });

/** A cluster with these sandboxes in the namespace `lab`, by their names and by the names of claims. */
function given({
  sandboxes = {},
  claims = {},
  settled = true,
}: {
  sandboxes?: Record<string, Sandbox>;
  claims?: Record<string, Sandbox>;
  settled?: boolean;
}) {
  const clock = new FakeClock();
  const signal = Object.assign(new ChangeSignal(), { [Symbol.dispose]() {} });
  const of = (known: Record<string, Sandbox>) => (namespace: string, name: string) =>
    namespace === "lab" ? known[name] : undefined;
  const firstSettled = new Promise<void>(() => {});
  const cluster = { synced: true, firstSeen: firstSettled, listen: () => signal, sandbox: of(sandboxes) };
  const deps = {
    ...{ clock, lookup: { sandbox: of(sandboxes), claimed: of(claims) } },
    domains: { domain: "example.com", clusterDomain: "cluster.local", serviceNames: ["router"] },
    lists: new FirstLists({ cluster, claims: { settled, firstSettled } } as unknown as FirstListsDeps),
    cluster,
  } as unknown as FindByNameDeps;
  const listeners: (() => void)[] = [];
  const client = { left: false, onLeave: (listener?: () => void) => void (listener && listeners.push(listener)) };
  const find = async (name: string) => {
    const found = findByName(name, client, 10_000, deps);
    await clock.advance(500);
    return await found;
  };
  return { clock, sandboxes, signal, listeners, deps, client, find };
}

describe("the sandbox of a server name", () => {
  it.each([
    { name: "nova.lab.example.com", port: 5432 },
    { name: "NOVA.Lab.Example.COM", port: 5432 },
    { name: "7000--nova--lab.example.com", port: 7000 },
    { name: "nova.lab.svc", port: 5432 },
    { name: "nova.lab.svc.cluster.local", port: 5432 },
    { name: "orion.lab.example.com", port: 5432 },
  ])("is found by $name, at port $port", async ({ name, port }) => {
    const { find } = given({ sandboxes: { nova }, claims: { orion: nova } });
    expect(await find(name)).toEqual({
      ...{ namespace: "lab", sandboxName: "nova", sandboxUid: "u1", containerPort: port },
    });
  });

  it.each([
    "vega.lab.example.com",
    "nova.den.example.com",
    "a.nova.lab.example.com",
    "nova--lab.example.com",
    "orion.lab.svc",
    "router.lab.svc",
    "example.com",
    "127.0.0.1",
    "nova.lab.example.com\0",
    "n\u00f6va.lab.example.com",
  ])("is not found by %j", async (name) => {
    const { find } = given({ sandboxes: { nova }, claims: { orion: nova } });
    expect(await find(name)).toEqual({ refusal: "UnknownName" });
  });

  it.each([7001, 53, 8888])("is not found with port %d, which it does not declare for TCP", async (port) => {
    const { find } = given({ sandboxes: { nova } });
    expect(await find(`${port}--nova--lab.example.com`)).toEqual({ refusal: "PortNotDeclared" });
  });

  it("is found with the default port alone if it declares none", async () => {
    const { find } = given({ sandboxes: { nova: aSandbox({ autoResume }, { uid: "u1" }) } });
    expect(await find("nova.lab.example.com")).toMatchObject({ containerPort: 8888 });
    expect(await find("8888--nova--lab.example.com")).toMatchObject({ containerPort: 8888 });
    expect(await find("8080--nova--lab.example.com")).toEqual({ refusal: "PortNotDeclared" });
  });

  it("is the sandbox of that name, and not that of a claim of the same name", async () => {
    const claimed = aSandbox({ autoResume }, { name: "other", uid: "u2" });
    const { find } = given({ sandboxes: { nova }, claims: { nova: claimed } });
    expect(await find("nova.lab.example.com")).toMatchObject({ sandboxUid: "u1" });
  });

  it("is found as soon as its owner opens it, and the search ends with its client", async () => {
    const world = given({ sandboxes: { nova: aSandbox({ autoResume: { allowFrom: "Namespace" } }) } });
    const found = findByName("nova.lab.example.com", world.client, 10_000, world.deps);
    await world.clock.advance(100);
    world.sandboxes["nova"] = nova;
    world.signal.notify();
    expect(await found).toMatchObject({ sandboxUid: "u1" });
    const left = findByName("vega.lab.example.com", world.client, 10_000, world.deps);
    world.listeners.at(-1)?.();
    expect(await left).toEqual({ refusal: "UnknownName" });
    expect(world.clock.pending).toBe(0);
  });
});

describe("while claims cannot be listed", () => {
  it.each(["nova.lab.example.com", "nova.lab.svc"])("a sandbox is found at once by %s, its own name", async (name) => {
    const { find } = given({ sandboxes: { nova }, settled: false });
    expect(await find(name)).toMatchObject({ sandboxUid: "u1" });
  });

  it("a sandbox is found as soon as it is created", async () => {
    const world = given({ settled: false });
    const found = findByName("nova.lab.example.com", world.client, 10_000, world.deps);
    await world.clock.advance(5_000);
    world.sandboxes["nova"] = nova;
    world.signal.notify();
    expect(await found).toMatchObject({ sandboxUid: "u1" });
    expect(world.clock.pending).toBe(0);
  });

  it.each([
    { what: "one that is closed", sandboxes: { nova: aSandbox() }, claims: {} },
    { what: "none", sandboxes: {}, claims: {} },
    { what: "that of a claim, which may be old", sandboxes: {}, claims: { nova } },
  ])("the name of $what waits until the limit of time", async ({ sandboxes, claims }) => {
    const world = given({ sandboxes, claims, settled: false });
    let isOver = false;
    const found = findByName("nova.lab.example.com", world.client, 10_000, world.deps).finally(() => (isOver = true));
    await world.clock.advance(9_999);
    expect(isOver).toBe(false);
    await world.clock.advance(1);
    expect(await found).toEqual({ refusal: "ClusterUnseen" });
    expect(world.clock.pending).toBe(0);
  });
});
