import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { SandboxSpec } from "../../api/kinds/sandbox.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { isOutsider, refusalOf } from "./admit-peer.ts";
import { PeerWaits, waitsPerPeer } from "./peer-waits.ts";

const peer = "10.1.2.3";
const stays = { peer, left: false, onLeave: () => {} };

async function given(spec: Partial<SandboxSpec> = {}) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const sandbox = await client.create(sandboxType, aSandbox("nova", spec));
  const cluster = opened.use(startCluster({ client, clock: systemClock, log: silentLogger }));
  await cluster.firstSeen;
  const clock = new FakeClock();
  let checks = 0;
  const watched = {
    sandbox: cluster.sandbox.bind(cluster),
    podsAt: (ip: string) => {
      checks += 1;
      return cluster.podsAt(ip);
    },
  };
  const waits = new PeerWaits(cluster);
  const binding = {
    ...{ activatorPort: 10_001, containerPort: 5432, namespace: "default" },
    ...{ sandboxName: "nova", sandboxUid: sandbox.metadata.uid },
  };
  const closing = opened.move();
  return {
    clock,
    binding,
    checks: () => checks,
    client,
    ask: (changed: Partial<typeof binding> = {}, caller = stays) =>
      refusalOf(caller, { ...binding, ...changed }, { cluster: watched, clock, waits, allowLoopbackPodIp: false }),
    isOutsider: () => isOutsider(peer, binding, { cluster: watched, allowLoopbackPodIp: false }),
    async addPod(namespace = "default", podIP = peer) {
      const metadata = { name: "client", namespace };
      const spec = { containers: [{ name: "main", image: "program" }] };
      await client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec });
      const body = { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] } };
      await client.patch(podType, { namespace, name: "client" }, { type: "merge", body }, { subresource: "status" });
      await eventually(() => cluster.podsAt(podIP).length === 1);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("a Pod that connects", () => {
  it("is admitted once the watch shows its address", async () => {
    await using world = await given();
    const asked = world.ask();
    await world.addPod();
    expect(await asked).toBeUndefined();
    expect(world.clock.pending).toBe(0);
    expect(await world.ask()).toBeUndefined();
  });

  it("that the watch never shows is rejected after 2 s", async () => {
    await using world = await given();
    const asked = world.ask();
    await world.clock.advance(1_999);
    expect(await Promise.race([asked, "waits"])).toBe("waits");
    await world.clock.advance(1);
    expect(await asked).toBe("NoPod");
  });

  it("from another namespace is rejected, unless the sandbox admits the cluster", async () => {
    await using world = await given();
    await world.addPod("kube-system");
    const asked = world.ask();
    await world.clock.advance(2_000);
    expect(await asked).toBe("OtherNamespace");
    await using open = await given({ autoResume: { allowFrom: "Cluster" } });
    await open.addPod("kube-system");
    expect(await open.ask()).toBeUndefined();
  });

  it("to a sandbox that was replaced meanwhile is rejected", async () => {
    await using world = await given();
    await world.addPod();
    const asked = world.ask({ sandboxUid: "another" });
    await world.clock.advance(2_000);
    expect(await asked).toBe("NoSandbox");
  });

  it("and leaves ends the wait", async () => {
    await using world = await given();
    let leave: (() => void) | undefined;
    const asked = world.ask({}, { ...stays, onLeave: (listener?: () => void) => (leave = listener) });
    leave?.();
    expect(await asked).toBe("NoPod");
    expect(world.clock.pending).toBe(0);
  });

  it("and leaves ends the wait of no other connection", async () => {
    await using world = await given();
    let leave: (() => void) | undefined;
    const left = world.ask({}, { ...stays, onLeave: (listener?: () => void) => (leave = listener) });
    const asked = world.ask();
    leave?.();
    expect(await left).toBe("NoPod");
    await world.clock.advance(1_000);
    expect(await Promise.race([asked, "waits"])).toBe("waits");
    await world.addPod();
    expect(await asked).toBeUndefined();
  });

  it("many times is checked once for each change, and each connection is admitted", async () => {
    await using world = await given();
    const asked = Array.from({ length: 500 }, () => world.ask());
    expect(world.clock.pending).toBe(500);
    const before = world.checks();
    await world.addPod("kube-system");
    for (const x of ["1", "2", "3"]) {
      const body = { metadata: { labels: { x } } };
      await world.client.patch(podType, { namespace: "kube-system", name: "client" }, { type: "merge", body });
    }
    const body = { spec: { autoResume: { allowFrom: "Cluster" as const } } };
    const name = { namespace: "default", name: "nova" };
    const first = Promise.race(asked).then(() => world.checks());
    await world.client.patch(sandboxType, name, { type: "merge", body });
    expect((await first) - before).toBeLessThan(100);
    expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]));
    expect(world.clock.pending).toBe(0);
  });

  it("to more sandboxes at once than one address may wait for is refused at once", async () => {
    await using world = await given();
    const asked = Array.from({ length: waitsPerPeer }, (_, n) => world.ask({ sandboxUid: `another-${n}` }));
    expect(await world.ask()).toBe("NoPod");
    await world.clock.advance(2_000);
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["NoSandbox"]));
    const again = world.ask();
    await world.addPod();
    expect(await again).toBeUndefined();
  });
});

describe("a Pod that may connect", () => {
  it.each([
    { namespace: "default", is: false },
    { namespace: "kube-system", is: true },
  ])("is an outsider unless it is of the namespace of the sandbox: from $namespace $is", async ({ namespace, is }) => {
    await using world = await given({ autoResume: { allowFrom: "Cluster" } });
    await world.addPod(namespace);
    expect(await world.ask()).toBeUndefined();
    expect(world.isOutsider()).toBe(is);
  });
});
