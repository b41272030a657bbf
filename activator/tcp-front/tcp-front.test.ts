import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { drainPaths, parseListeningAnswer } from "../../api/between-programs/drain-protocol.ts";
import {
  endpointSliceType,
  formatTcpFront,
  tcpFrontOf,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { eventually } from "../../test/support/eventually.ts";
import { allocate, greeter, openTcpWorld, talkTo, tcpPort, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";
import { sayPatiently } from "../../test/support/sockets/patient-client.ts";

const nova = { namespace: "default", name: "nova" };

/** Takes a sandbox's ports away as the controller does, with their rest over. */
async function freed(api: KubeClient, uid: string): Promise<void> {
  const slice = { namespace: "default", name: tcpFrontSliceName(uid) };
  const front = tcpFrontOf(await api.get(endpointSliceType, slice));
  if (!front) throw new Error("it has no ports");
  const annotations = { [tcpFrontAnnotation]: formatTcpFront({ ...front, freedAt: "2020-01-01T00:00:00Z" }) };
  await api.patch(endpointSliceType, slice, { type: "merge", body: { metadata: { annotations } } });
  await api.delete(endpointSliceType, slice);
}

describe("a connection to a port of a sandbox", () => {
  it("is held, wakes the sandbox, and receives its greeting", async () => {
    await using world = await openTcpWorld();
    await world.asleep("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova");
    using client = await talkTo(port);
    await client.until("hello from nova\n");
    client.send("select 1\n");
    expect(await client.until("nova: select 1\n")).toBe("hello from nova\nnova: select 1\n");
    expect(world.kubelet.made("nova")).toBe(1);
    const { wakePatched = 0, podCreated = 0, portAccepted = 0, firstByte = 0 } = world.wakes[0] ?? {};
    const steps = [0, wakePatched, podCreated, portAccepted, firstByte];
    expect(steps.toSorted((a, b) => a - b)).toEqual(steps);
    expect(portAccepted).toBeGreaterThan(0);
  });

  it("keeps the client's bytes while it is held, and an end after them", async () => {
    await using world = await openTcpWorld();
    await world.asleep("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova");
    using client = await talkTo(port);
    client.send("ping\n");
    client.socket.end();
    expect(await client.over()).toBe("ended");
    expect(client.received).toBe("hello from nova\nnova: ping\nbye\n");
  });

  it("is half-closed by either side without losing the other half", async () => {
    await using world = await openTcpWorld();
    const served: Socket[] = [];
    let heard = "";
    await world.awake(
      "nova",
      tcpProgram((socket) => {
        served.push(socket);
        socket.on("data", (bytes) => (heard += bytes)).end("all I have to say");
      }),
    );
    const port = await world.front("nova");
    using client = await talkTo(port);
    expect(await client.over()).toBe("ended");
    client.send("and now ");
    await eventually(() => heard === "and now ");
    client.socket.end("you");
    await eventually(() => served[0]?.destroyed);
    expect([client.received, heard]).toEqual(["all I have to say", "and now you"]);
  });

  it("brings the sandbox's last words to a client that still sends", async () => {
    await using world = await openTcpWorld();
    const refuse = (socket: Socket) => {
      socket.pause(); // what lies unread makes its end a reset
      socket.write("too many connections", () => socket.destroy());
    };
    await world.awake(
      "nova",
      tcpProgram((socket) => socket.once("data", () => refuse(socket))),
    );
    const port = await world.front("nova");
    for (let time = 0; time < 10; time += 1) {
      expect(await sayPatiently(port, "x".repeat(1_048_576))).toBe("too many connections");
    }
  });

  it("relays megabytes both ways with back-pressure", async () => {
    await using world = await openTcpWorld();
    await world.awake(
      "nova",
      tcpProgram((socket) => socket.pipe(socket)),
    );
    const port = await world.front("nova");
    using client = await talkTo(port);
    const block = "x".repeat(65_536);
    for (let at = 0; at < 128; at += 1) client.send(block);
    client.socket.end();
    expect(await client.over()).toBe("ended");
    expect(client.received).toHaveLength(128 * block.length);
  });

  it("shares one wake with 200 others", async () => {
    await using world = await openTcpWorld();
    await world.asleep("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova");
    const clients = await Promise.all(Array.from({ length: 200 }, () => talkTo(port)));
    await Promise.all(clients.map((client) => client.until("hello from nova\n")));
    expect(world.kubelet.made("nova")).toBe(1);
    expect(await world.hasMetric('rouse_activator_tcp_connections{state="relayed"} 200')).toBe(true);
    for (const client of clients) client.socket.end();
    await Promise.all(clients.map((client) => client.until("bye\n")));
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections_total{outcome="relayed"} 200'));
    expect(await world.hasMetric('rouse_activator_tcp_connections{state="relayed"} 0')).toBe(true);
  });

  it.each([
    { why: "trigger is Never", spec: { autoResume: { trigger: "Never" as const } }, reason: "WakeNotAllowed" },
    { why: "it is not woken in time", spec: { autoResume: { timeoutSeconds: 1 } }, reason: "WakeTimedOut" },
  ])("is reset when $why", async ({ spec, reason }) => {
    await using world = await openTcpWorld();
    await world.asleep("nova", undefined, spec);
    using client = await talkTo(await world.front("nova"));
    expect(await client.over()).toBe("reset");
    await eventually(() => world.hasMetric(`rouse_activator_tcp_refused_total{reason="${reason}"} 1`));
  });

  it("takes its share of places at most", async () => {
    await using world = await openTcpWorld(["--held-max-per-sandbox=1"]);
    await world.asleep("nova");
    const port = await world.front("nova");
    using first = await talkTo(port);
    await eventually(() => world.hasMetric("rouse_activator_held_requests 1"));
    using second = await talkTo(port);
    expect(await second.over()).toBe("reset");
    expect(first.received).toBe("");
  });

  it.each(["end", "resetAndDestroy"] as const)("returns its place when the client leaves by %s", async (leaves) => {
    await using world = await openTcpWorld();
    await world.asleep("nova");
    using client = await talkTo(await world.front("nova"));
    await eventually(() => world.hasMetric("rouse_activator_held_requests 1"));
    expect(await world.hasMetric('rouse_activator_tcp_connections{state="waiting"} 1')).toBe(true);
    client.socket[leaves]();
    await eventually(() => world.hasMetric("rouse_activator_held_requests 0"));
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections{state="waiting"} 0'));
    expect(await world.hasMetric('rouse_activator_tcp_connections_total{outcome="clientLeft"} 1')).toBe(true);
  });

  it("ends when its Pod is deleted", async () => {
    await using world = await openTcpWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    using client = await talkTo(await world.front("nova"));
    await client.until("hello");
    await world.api.client.delete(sandboxType, nova);
    await client.over();
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections{state="relayed"} 0'));
  });

  it("is reset at the limits of silence and of lifetime", async () => {
    for (const flag of ["--tunnel-idle-timeout=300ms", "--tunnel-lifetime=300ms"]) {
      await using world = await openTcpWorld([flag]);
      await world.awake("nova", tcpProgram(greeter("nova")));
      using client = await talkTo(await world.front("nova"));
      expect(await client.over()).toBe("reset");
      expect(client.received).toBe("hello from nova\n");
    }
  });
});

describe("a port of the activator", () => {
  it("leads to its own sandbox alone", async () => {
    await using world = await openTcpWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    await world.awake("vega", tcpProgram(greeter("vega")));
    const port = await world.front("nova");
    using client = await talkTo(port);
    await client.until("hello from nova");
    const { client: api } = world.api;
    const { uid } = (await api.get(sandboxType, nova)).metadata;
    await freed(api, uid);
    await eventually(() => world.hasMetric("rouse_activator_tcp_listeners 0"));
    await expect(talkTo(port)).rejects.toThrow("ECONNREFUSED");
    const vega = (await api.get(sandboxType, { namespace: "default", name: "vega" })).metadata;
    await allocate(api, vega, { activatorPort: port, containerPort: tcpPort });
    await eventually(() => world.confirms(port, vega.uid));
    using other = await talkTo(port);
    expect(await other.until("hello")).toBe("hello from vega\n");
    client.send("still there?\n"); // relayed connections continue
    await client.until("nova: still there?");
  });

  it("is quarantined after its record was removed, except for its own sandbox", async () => {
    await using world = await openTcpWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    await world.awake("vega", tcpProgram(greeter("vega")));
    const port = await world.front("nova");
    const { client: api } = world.api;
    const { uid } = (await api.get(sandboxType, nova)).metadata;
    await api.delete(endpointSliceType, { namespace: "default", name: tcpFrontSliceName(uid) });
    const vega = (await api.get(sandboxType, { namespace: "default", name: "vega" })).metadata;
    const ports = { activatorPort: port, containerPort: tcpPort };
    const { name } = (await allocate(api, vega, ports)).metadata;
    await eventually(() => world.hasMetric("rouse_activator_tcp_listeners 0"));
    const url = `http://127.0.0.1:${world.activator.drainPort}${drainPaths.listening}`;
    const body = JSON.stringify({ ports: [{ sandboxUid: vega.uid, activatorPort: port }] });
    await eventually(async () => {
      const answer = parseListeningAnswer(await (await fetch(url, { method: "POST", body })).json());
      return answer?.resting?.includes(port) && answer.ports.length === 0;
    });
    await expect(talkTo(port)).rejects.toThrow("ECONNREFUSED");
    await api.delete(endpointSliceType, { namespace: "default", name });
    await allocate(api, { name: "nova", uid }, ports);
    await eventually(() => world.confirms(port, uid));
    using client = await talkTo(port);
    expect(await client.until("hello")).toBe("hello from nova\n");
  });

  it("resets connections to a sandbox that was replaced by another of its name", async () => {
    await using world = await openTcpWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    const port = await world.front("nova");
    const { client: api } = world.api;
    const before = await api.get(sandboxType, nova);
    await api.delete(sandboxType, nova);
    await eventually(async () => (await api.list(podType, { namespace: "default" })).items.length === 0);
    await world.asleep("nova", tcpProgram(greeter("nova")));
    expect((await api.get(sandboxType, nova)).metadata.uid).not.toBe(before.metadata.uid);
    using client = await talkTo(port);
    expect(await client.over()).toBe("reset");
    expect(await world.hasMetric('rouse_activator_tcp_refused_total{reason="NoSandbox"} 1')).toBe(true);
    expect(world.kubelet.made("nova")).toBe(1);
  });
});
