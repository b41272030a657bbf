import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { drainPaths } from "../../api/between-programs/drain-protocol.ts";
import { podType } from "../../api/kinds/core.ts";
import { type OpenConnections, sandboxType } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { lastUse, observed, promised } from "../../test/support/drain-questions.ts";
import { eventually } from "../../test/support/eventually.ts";
import { frame, frameOf, preface } from "../../test/support/http2-frames.ts";
import { greeter, openTcpWorld, type TcpWorld, talkTo, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";

const nova = { namespace: "default", name: "nova" };

async function connected(world: TcpWorld, openConnections: OpenConnections) {
  await world.awake("nova", tcpProgram(greeter("nova")), { autoSuspension: { openConnections } });
  const port = await world.front("nova");
  const client = await talkTo(port);
  await client.until("hello from nova\n");
  return { port, client };
}

describe("an open raw connection", () => {
  it.each(["Data", "Ignore"] as const)("does not keep its Pod under %s, and ends without a reset", async (meaning) => {
    await using world = await openTcpWorld();
    const { client } = await connected(world, meaning);
    expect((await observed(world)).inFlight).toBe(0);
    expect(await promised(world)).toEqual({ inFlight: 0 });
    expect(await client.over()).toBe("ended");
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections_total{outcome="closedForSleep"} 1'));
    expect(await world.hasMetric("rouse_activator_connections_closed_for_sleep_total 1")).toBe(true);
  });

  it("keeps its Pod while open under Count", async () => {
    await using world = await openTcpWorld();
    const { client } = await connected(world, "Count");
    expect((await observed(world)).inFlight).toBe(1);
    expect(await promised(world)).toEqual({ inFlight: 1 });
    client.send("still here\n");
    await client.until("nova: still here\n");
    client.socket.destroy();
    await eventually(async () => (await promised(world)).inFlight === 0);
  });

  it.each([
    { meaning: "Data", counts: true },
    { meaning: "Ignore", counts: false },
  ] as const)("is used by its bytes under $meaning: $counts", async ({ meaning, counts }) => {
    await using world = await openTcpWorld();
    const { client } = await connected(world, meaning);
    await eventually(async () => ((await observed(world)).idleForMs ?? 0) > 20);
    const sentMs = systemClock.ticksMs();
    client.send("a line\n");
    await client.until("nova: a line\n");
    const { earliestMs = 0, latestMs = 0 } = (await lastUse(world)) ?? {};
    if (counts) expect(latestMs).toBeGreaterThanOrEqual(sentMs);
    else expect(earliestMs).toBeLessThan(sentMs);
  });

  it("that speaks HTTP/2 is used by the rest of a frame with data, and not by pings", async () => {
    await using world = await openTcpWorld();
    const servers: Socket[] = [];
    await world.awake(
      "nova",
      tcpProgram((socket) => void servers.push(socket.resume())),
    );
    const client = await talkTo(await world.front("nova"));
    client.socket.write(Buffer.concat([preface, frameOf({ type: frame.settings })]));
    await eventually(() => servers[0]?.bytesRead === 33);
    const useAfter = async (bytes: Buffer) => {
      await eventually(async () => ((await observed(world)).idleForMs ?? 0) > 20);
      const sentMs = systemClock.ticksMs();
      const until = client.socket.bytesRead + bytes.length;
      servers[0]?.write(bytes);
      await eventually(() => client.socket.bytesRead === until);
      const { earliestMs = 0, latestMs = 0 } = (await lastUse(world)) ?? {};
      return { earliestMs: earliestMs - sentMs, latestMs: latestMs - sentMs };
    };
    const data = frameOf({ type: frame.data, stream: 1 }, Buffer.from("ab"));
    await useAfter(Buffer.concat([frameOf({ type: frame.settings }), data.subarray(0, -1)]));
    expect((await useAfter(data.subarray(-1))).latestMs).toBeGreaterThanOrEqual(0);
    expect((await useAfter(frameOf({ type: frame.ping }, Buffer.alloc(8)))).earliestMs).toBeLessThan(0);
  });

  it("cancels an inactivity suspension with its first byte after the deadline", async () => {
    await using world = await openTcpWorld();
    const { client } = await connected(world, "Data");
    const { generation = 1 } = (await world.api.client.get(sandboxType, nova)).metadata;
    await observed(world, 1); // reported before it is written, and long before it is seen
    const annotations = { [suspensionCauseAnnotation]: inactivityAt(generation + 1) };
    const body = { metadata: { annotations }, spec: { operatingMode: "Suspended" } };
    client.send("me again\n");
    await world.api.client.patch(sandboxType, nova, { type: "merge", body });
    await eventually(async () => (await world.sandbox("nova")).spec.operatingMode === "Running");
    await client.until("nova: me again\n");
  });
});

describe("a raw connection in the middle of a stream when its Pod is fenced", () => {
  it("is reset for a client that downloads, and whose part would look complete after an end", async () => {
    await using world = await openTcpWorld();
    const pushes = (socket: Socket) => {
      const pushing = setInterval(() => socket.write("x".repeat(10_000)), 10);
      socket.once("close", () => clearInterval(pushing));
    };
    await world.awake("nova", tcpProgram(pushes));
    using client = await talkTo(await world.front("nova"));
    await client.until("x");
    expect(await promised(world)).toEqual({ inFlight: 0 });
    expect(await client.over()).toBe("reset");
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections{state="relayed"} 0'));
  });

  it("is reset for a sandbox that gets an upload, and nothing more is forwarded to it", async () => {
    await using world = await openTcpWorld();
    let [got, ending] = [0, ""];
    const program = tcpProgram((socket) => {
      socket.on("data", ({ length }) => (got += length)).on("end", () => (ending += "end"));
      socket.on("error", ({ code }: NodeJS.ErrnoException) => (ending += code));
    });
    await world.awake("nova", program, { autoSuspension: { openConnections: "Ignore" } });
    using client = await talkTo(await world.front("nova"));
    client.send("a part");
    await eventually(() => got === 6);
    expect(await promised(world)).toEqual({ inFlight: 0 });
    client.send("the rest");
    expect(await client.over()).toBe("reset");
    await eventually(() => ending !== "");
    expect([got, ending]).toEqual([6, "ECONNRESET"]);
  });

  it("ends like its stream if that ends within a second", async () => {
    await using world = await openTcpWorld();
    const accepted: Socket[] = [];
    await world.awake(
      "nova",
      tcpProgram((socket) => void accepted.push(socket.on("end", () => {}))),
    );
    using client = await talkTo(await world.front("nova"));
    await eventually(() => accepted.length === 1);
    accepted[0]?.write("one ");
    await client.until("one ");
    expect(await promised(world)).toEqual({ inFlight: 0 });
    accepted[0]?.end("two");
    expect(await client.over()).toBe("ended");
    expect(client.received).toBe("one two");
  });
});

describe("a byte on a silent connection while its sandbox is being suspended", () => {
  it("is answered, or finds the connection ended: it is never lost in silence", async () => {
    await using world = await openTcpWorld();
    const { port } = await connected(world, "Data");
    const { uid = "" } = (await world.sandbox("nova")).metadata;
    const unheard: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const talks = await Promise.all(Array.from({ length: 5 }, () => talkTo(port)));
      await Promise.all(talks.map((talk) => talk.until("hello from nova\n")));
      const [pod] = (await world.api.client.list(podType, { namespace: "default" })).items;
      const body = JSON.stringify({ sandbox: { ...nova, uid }, podUid: pod?.metadata.uid });
      const url = `http://127.0.0.1:${world.activator.drainPort}${drainPaths.promise}`;
      const promised = fetch(url, { method: "POST", body });
      for (const talk of talks) {
        for (let turn = 0; turn < round % 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        talk.send("a byte\n");
      }
      await promised;
      // At the promise, whatever was said before. What was answered was answered whole.
      for (const talk of talks) {
        await talk.over();
        if (!/^hello from nova\n(nova: a byte\n)?$/.test(talk.received)) unheard.push(talk.received);
      }
      await world.api.client.patch(sandboxType, nova, {
        type: "merge",
        body: { spec: { operatingMode: "Suspended" } },
      });
    }
    expect(unheard).toEqual([]);
    await eventually(() => world.hasMetric('rouse_activator_tcp_connections{state="relayed"} 0'));
  });
});

describe("a raw connection that arrives during a suspension", () => {
  it("is held, counts, and is connected to the next Pod", async () => {
    await using world = await openTcpWorld();
    const { port } = await connected(world, "Data");
    expect(await promised(world)).toEqual({ inFlight: 0 });
    using late = await talkTo(port);
    await eventually(async () => (await observed(world)).inFlight === 1);
    expect(await promised(world)).toEqual({ inFlight: 0 });
    const body = { spec: { operatingMode: "Suspended" } };
    await world.api.client.patch(sandboxType, nova, { type: "merge", body });
    await late.until("hello from nova\n");
    expect(world.kubelet.made("nova")).toBe(2);
  });

  it("counts no more once its client has left", async () => {
    await using world = await openTcpWorld();
    const { port } = await connected(world, "Data");
    await promised(world);
    const late = await talkTo(port);
    await eventually(async () => (await observed(world)).inFlight === 1);
    late.socket.destroy();
    await eventually(async () => (await observed(world)).inFlight === 0);
  });
});
