import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  allocate,
  freeFrontPort,
  greeter,
  openTcpWorld,
  talkTo,
  tcpPort,
  tcpProgram,
} from "../../test/support/labs/tcp-front-lab.ts";
import { parseActivatorConfig } from "../config/config.ts";
import { startActivator } from "../start.ts";

const endpoints = [{ addresses: ["127.0.0.1"] }];
/** An API server that does not list this kind before it is let. */
function withheld(client: KubeClient, plural: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const list: KubeClient["list"] = async (type, ...more) => {
    if (type.plural === plural) await promise;
    return client.list(type, ...more);
  };
  return { client: Object.assign(Object.create(client), { list }) as KubeClient, let: resolve };
}

const bye = async (port: number) => {
  using client = await talkTo(port);
  client.socket.end();
  return await client.until("bye\n");
};

describe("a replica that starts", () => {
  it.each(["sandboxes", "pods", "endpointslices"])("opens no port before it has seen all %s", async (plural) => {
    await using world = await openTcpWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    const activatorPort = await freeFrontPort();
    const { uid = "" } = (await world.sandbox("nova")).metadata;
    const flags = [
      "--http-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
      "--authz-mode=allow-all",
    ];
    const here = ["--drain-bind-address=127.0.0.1:0", "--tcp-front-bind-address=127.88.1.1", "--metrics-bind-address="];
    const config = parseActivatorConfig([...flags, ...here, "--allow-loopback-pod-ip"]);
    const { client, let: see } = withheld(world.api.client, plural);
    const registry = new Registry();
    await using _second = await startActivator(config, { client, registry, clock: systemClock, log: silentLogger });
    await allocate(world.api.client, { name: "nova", uid }, { activatorPort, containerPort: tcpPort });
    await eventually(() => world.confirms(activatorPort, uid));
    await expect(talkTo(activatorPort, "127.88.1.1")).rejects.toThrow("ECONNREFUSED");
    see();
    await eventually(async () => (await registry.metrics()).includes("rouse_activator_tcp_listeners 1"));
    using guest = await talkTo(activatorPort, "127.88.1.1");
    await guest.until("hello from nova");
  });
});

describe("a replica that exits", () => {
  it("accepts while a slice lists it, and exits once its connections have ended", async () => {
    await using world = await openTcpWorld([], { POD_IP: "127.0.0.1" });
    await world.awake("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova", { endpoints });
    using client = await talkTo(port);
    await client.until("hello");
    let gone = false;
    const left = world.activator.drain().then(() => (gone = true));
    expect(await bye(port)).toContain("hello");
    const { uid } = (await world.sandbox("nova")).metadata;
    const slice = { namespace: "default", name: tcpFrontSliceName(uid ?? "") };
    await world.api.client.patch(endpointSliceType, slice, { type: "merge", body: { endpoints: [] } });
    await eventually(() => world.hasMetric("rouse_activator_tcp_listeners 0"));
    await expect(talkTo(port)).rejects.toThrow("ECONNREFUSED");
    client.send("one more\n");
    await client.until("nova: one more\n");
    expect(gone).toBe(false);
    client.socket.end();
    await left;
  });

  it("waits until its limit, and resets held connections", async () => {
    await using world = await openTcpWorld(["--shutdown-timeout=200ms"], { POD_IP: "127.0.0.1" });
    await world.asleep("nova");
    const port = await world.front("nova", { endpoints });
    using held = await talkTo(port);
    await eventually(() => world.hasMetric("rouse_activator_held_requests 1"));
    await world.activator.drain();
    expect(await held.over()).toBe("reset");
    expect(await world.hasMetric('rouse_activator_tcp_refused_total{reason="Draining"} 1')).toBe(true);
  });
});

describe("a stranger", () => {
  it("is reset without waking anything, and counted", async () => {
    await using world = await openTcpWorld(["--allow-loopback-pod-ip=false"]);
    await world.asleep("nova", tcpProgram(greeter("nova")));
    using client = await talkTo(await world.front("nova"));
    expect(await client.over()).toBe("reset");
    expect(await world.hasMetric('rouse_activator_tcp_refused_total{reason="Loopback"} 1')).toBe(true);
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("beyond the limit of connections is reset at once", async () => {
    await using world = await openTcpWorld(["--max-connections=1"]);
    await world.awake("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova");
    using first = await talkTo(port);
    await first.until("hello");
    using second = await talkTo(port);
    expect(await second.over()).toBe("reset");
    expect(await world.hasMetric('rouse_activator_tcp_refused_total{reason="TooManyConnections"} 1')).toBe(true);
  });
});
