import { describe, expect, it } from "vitest";
import { podType } from "../../api/core.ts";
import type { SandboxSpec } from "../../api/sandbox.ts";
import { sandboxType } from "../../api/sandbox.ts";
import { FakeClock, systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { aSandbox } from "../../test/support/activator-world.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { refusalOf } from "./admit-peer.ts";

const peer = "10.1.2.3";
const stays = { peer, left: false, onLeave: () => {} };

async function given(spec: Partial<SandboxSpec> = {}) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const sandbox = await client.create(sandboxType, aSandbox("nova", spec));
  const cluster = opened.use(startCluster({ client, clock: systemClock, log: silentLogger }));
  await cluster.firstSeen;
  const clock = new FakeClock();
  const standing = {
    ...{ activatorPort: 10_001, containerPort: 5432, namespace: "default" },
    ...{ sandboxName: "nova", sandboxUid: sandbox.metadata.uid },
  };
  const closing = opened.move();
  return {
    clock,
    standing,
    ask: (changed: Partial<typeof standing> = {}, caller = stays) =>
      refusalOf(caller, { ...standing, ...changed }, { cluster, clock, allowLoopbackPodIp: false }),
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
  it("before the watch has shown its address is let in as soon as it has", async () => {
    await using world = await given();
    const asked = world.ask();
    await world.addPod();
    expect(await asked).toBeUndefined();
    expect(world.clock.pending).toBe(0);
    expect(await world.ask()).toBeUndefined();
  });

  it("and is never shown is refused after two seconds", async () => {
    await using world = await given();
    const asked = world.ask();
    await world.clock.advance(1_999);
    expect(await Promise.race([asked, "waits"])).toBe("waits");
    await world.clock.advance(1);
    expect(await asked).toBe("NoPod");
  });

  it("from another namespace is refused, unless the sandbox lets in the cluster", async () => {
    await using world = await given();
    await world.addPod("kube-system");
    const asked = world.ask();
    await world.clock.advance(2_000);
    expect(await asked).toBe("OtherNamespace");
    await using open = await given({ autoResume: { allowFrom: "Cluster" } });
    await open.addPod("kube-system");
    expect(await open.ask()).toBeUndefined();
  });

  it("to a sandbox that is another by now is refused", async () => {
    await using world = await given();
    await world.addPod();
    const asked = world.ask({ sandboxUid: "another" });
    await world.clock.advance(2_000);
    expect(await asked).toBe("NoSandbox");
  });

  it("and leaves is waited for no longer", async () => {
    await using world = await given();
    let leave: (() => void) | undefined;
    const asked = world.ask({}, { ...stays, onLeave: (listener?: () => void) => (leave = listener) });
    leave?.();
    expect(await asked).toBe("NoPod");
    expect(world.clock.pending).toBe(0);
  });
});
