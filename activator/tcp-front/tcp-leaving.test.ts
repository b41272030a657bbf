import { describe, expect, it } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/tcp-front.ts";
import { eventually } from "../../test/support/eventually.ts";
import { greeter, openTcpWorld, talkTo, tcpProgram } from "../../test/support/tcp-front-lab.ts";

const endpoints = [{ addresses: ["127.0.0.1"] }];
const bye = async (port: number) => {
  using client = await talkTo(port);
  client.socket.end();
  return await client.until("bye\n");
};

describe("a replica that leaves", () => {
  it("accepts for as long as a slice lists it, and goes once what it carries has ended", async () => {
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

  it("waits no longer than it may, and resets what it still holds", async () => {
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

  it("beyond the connections that there may be is reset at once", async () => {
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
