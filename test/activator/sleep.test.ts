import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { type Activator, startActivator } from "../../activator/start.ts";
import { drainPaths, type ObservedAnswer, type PromiseAnswer } from "../../api/between-programs/drain-protocol.ts";
import { podType } from "../../api/kinds/core.ts";
import { type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";
import { openMemoryApi } from "../support/memory-api.ts";

const nova = { namespace: "default", name: "nova" };
const id = { "X-Sandbox-ID": "nova" };
const open = (flags: readonly string[] = []) => openActivatorWorld(["--drain-bind-address=127.0.0.1:0", ...flags]);

async function call<T>({ drainPort }: Activator, path: string, body: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${drainPort}${path}`, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as T;
}

async function questionOf({ api }: ActivatorWorld, ahead = 0) {
  const { metadata } = await api.client.get(sandboxType, nova);
  const pod = await api.client.get(podType, nova);
  const sandbox = { ...nova, uid: metadata.uid };
  return { sandbox, podUid: pod.metadata.uid, generation: (metadata.generation ?? 0) + ahead };
}

const observed = async (world: ActivatorWorld, ahead = 0) =>
  call<ObservedAnswer>(world.activator, drainPaths.observed, await questionOf(world, ahead));
const promise = async (world: ActivatorWorld) =>
  call<PromiseAnswer>(world.activator, drainPaths.promise, await questionOf(world));

const change = ({ api }: ActivatorWorld, spec: Partial<SandboxSpec>, annotations: Record<string, string> = {}) =>
  api.client.patch(sandboxType, nova, { type: "merge", body: { metadata: { annotations }, spec } });

const answerOf = ({ activator }: ActivatorWorld, headers: Record<string, string> = {}) =>
  fetch(activator.proxyUrl, { headers: { ...id, ...headers } }).then((response) => response.text());

describe("an activator with a reported suspension", () => {
  it("holds and counts new requests, and releases them once the suspension is over", async () => {
    await using world = await open();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    expect(await answerOf(world)).toBe("awake");
    expect(await observed(world, 1)).toMatchObject({ inFlight: 0, idleForMs: expect.any(Number) });
    const held = answerOf(world);
    await eventually(async () => (await observed(world, 1)).inFlight === 1);
    await change(world, { autoSuspension: { inactivityTimeoutSeconds: 60 } }); // the next generation, which runs
    expect(await held).toBe("awake");
    expect(world.kubelet.made("nova")).toBe(1);
  });

  it("resumes a sandbox as soon as it sees an inactivity suspension, and reports the wake", async () => {
    await using world = await open();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    const { generation } = await questionOf(world);
    await change(world, { operatingMode: "Suspended" }, { [suspensionCauseAnnotation]: inactivityAt(generation + 1) });
    expect(await answerOf(world)).toBe("awake");
    const { activities } = await call<{ activities: unknown }>(world.activator, drainPaths.activity, {});
    expect(activities).toMatchObject([{ wake: { generation: generation + 2, port: 8888 }, inFlight: 0 }]);
  });
});

describe("an activator with a promise", () => {
  it("sends nothing to that Pod again, finishes what it has sent, and serves from the next Pod", async () => {
    await using world = await open();
    const finish: (() => void)[] = [];
    const paths: (string | undefined)[] = [];
    const program = httpProgram((request, response) => {
      paths.push(request.url);
      if (request.url === "/long") finish.push(() => response.end("long"));
      else response.end("short");
    });
    await world.awake("nova", program);
    const long = fetch(`${world.activator.proxyUrl}/long`, { headers: id });
    await eventually(() => finish.length === 1);
    expect(await promise(world)).toEqual({ inFlight: 1 });
    const held = answerOf(world);
    await eventually(async () => (await observed(world)).inFlight === 2);
    expect(await promise(world)).toEqual({ inFlight: 1 });
    finish[0]?.();
    expect(await (await long).text()).toBe("long");
    await eventually(async () => (await promise(world)).inFlight === 0);
    expect(paths).toEqual(["/long"]);
    await change(world, { operatingMode: "Suspended" });
    expect(await held).toBe("short");
    expect(world.kubelet.made("nova")).toBe(2);
  });

  it("may promise before the cluster is synced", async () => {
    await using api = await openMemoryApi();
    const list: KubeClient["list"] = (_type, _options, signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const client: KubeClient = Object.assign(Object.create(api.client), { list });
    const flags = [
      "--http-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
      "--authz-mode=allow-all",
    ];
    const config = parseActivatorConfig([...flags, "--metrics-bind-address=", "--drain-bind-address=127.0.0.1:0"]);
    const parts = { client, clock: systemClock, log: silentLogger, registry: new Registry() };
    await using activator = await startActivator(config, parts);
    const question = { sandbox: { ...nova, uid: "u1" }, podUid: "p1" };
    expect(await call(activator, drainPaths.promise, question)).toEqual({ inFlight: 0 });
  });
});

/** A program that upgrades to any protocol, and keeps the connections. */
const upgrading = (protocol: string, tunnels: Duplex[]) =>
  httpProgram(
    (_, response) => response.end("plain"),
    (server: Server) =>
      server.on("upgrade", (_, socket) => {
        socket.on("error", () => {});
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
        tunnels.push(socket);
      }),
  );

async function openTunnel(world: ActivatorWorld, protocol: string) {
  const client = await rawConnection(world.activator);
  const head = "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: Upgrade\r\n";
  client.send(`${head}Upgrade: ${protocol}\r\n\r\n`);
  await client.until("101 Switching Protocols");
  return client;
}

const idleMs = async (world: ActivatorWorld) => (await observed(world)).idleForMs ?? 0;

/** The earliest and latest time of the last use, by this process's clock, because the call takes time. */
async function lastUse(world: ActivatorWorld): Promise<{ readonly earliestMs: number; readonly latestMs: number }> {
  const askedMs = systemClock.ticksMs();
  const idleForMs = await idleMs(world);
  return { earliestMs: askedMs - idleForMs, latestMs: systemClock.ticksMs() - idleForMs };
}

describe("an open connection", () => {
  it.each([
    { protocol: "websocket", ends: "\x88\x02\x03\xe9" },
    { protocol: "raw", ends: "\r\n\r\n" },
  ])("is ended in its own way at the promise: $protocol", async ({ protocol, ends }) => {
    await using world = await open();
    const tunnels: Duplex[] = [];
    await world.awake("nova", upgrading(protocol, tunnels));
    using client = await openTunnel(world, protocol);
    expect(await promise(world)).toEqual({ inFlight: 0 });
    expect((await client.closed()).endsWith(ends)).toBe(true);
    await eventually(() => tunnels[0]?.readableEnded || tunnels[0]?.destroyed);
  });

  it("keeps its Pod while open if openConnections is Count", async () => {
    await using world = await open();
    await world.awake("nova", upgrading("raw", []), { autoSuspension: { openConnections: "Count" } });
    using client = await openTunnel(world, "raw");
    expect(await promise(world)).toEqual({ inFlight: 1 });
    client.socket.resetAndDestroy();
    await eventually(async () => (await promise(world)).inFlight === 0);
  });

  it("begins and stops keeping its Pod when openConnections changes", async () => {
    await using world = await open();
    await world.awake("nova", upgrading("raw", []), { autoSuspension: { openConnections: "Ignore" } });
    using client = await openTunnel(world, "raw");
    expect(await observed(world)).toMatchObject({ inFlight: 0 });
    await change(world, { autoSuspension: { openConnections: "Count" } });
    await eventually(async () => (await observed(world)).inFlight === 1);
    expect(await promise(world)).toEqual({ inFlight: 1 });
    await change(world, { autoSuspension: { openConnections: "Data" } });
    await client.closed();
    expect(await promise(world)).toEqual({ inFlight: 0 });
  });

  it.each([
    { bytes: "\x89\x80abcd", what: "a ping", counts: false },
    { bytes: "\x81\x81abcdX", what: "a message", counts: true },
  ])("of a WebSocket is used by $what: $counts", async ({ bytes, counts }) => {
    await using world = await open();
    const tunnels: Duplex[] = [];
    await world.awake("nova", upgrading("websocket", tunnels));
    using client = await openTunnel(world, "websocket");
    let arrived = 0;
    tunnels[0]?.on("data", (data: Buffer) => {
      arrived += data.length;
    });
    await eventually(async () => (await idleMs(world)) > 100);
    const sentMs = systemClock.ticksMs();
    client.send(Buffer.from(bytes, "latin1"));
    await eventually(() => arrived === bytes.length);
    const { earliestMs, latestMs } = await lastUse(world);
    if (counts) expect(latestMs).toBeGreaterThanOrEqual(sentMs);
    else expect(earliestMs).toBeLessThan(sentMs);
  });
});

describe("an event stream", () => {
  it("does not keep its Pod, and is used by events alone", async () => {
    await using world = await open();
    const streams: ServerResponse[] = [];
    const program = httpProgram((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" }).flushHeaders();
      streams.push(response);
    });
    await world.awake("nova", program);
    using client = await rawConnection(world.activator);
    client.send("GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    await client.until("text/event-stream");
    await eventually(async () => (await idleMs(world)) > 100);
    const sentMs = systemClock.ticksMs();
    streams[0]?.write(": ping\n\n");
    await client.until(": ping");
    expect((await lastUse(world)).earliestMs).toBeLessThan(sentMs);
    streams[0]?.write("data: hello\n\n");
    await client.until("hello");
    expect((await lastUse(world)).latestMs).toBeGreaterThanOrEqual(sentMs);
    expect(await promise(world)).toEqual({ inFlight: 0 });
  });
});

describe("a connection that a sealed Pod opens late", () => {
  it("is closed as soon as it has begun", async () => {
    await using world = await open();
    const asked: Duplex[] = [];
    const upgrades = (server: Server) => server.on("upgrade", (_, socket) => asked.push(socket));
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end(), upgrades),
    );
    using client = await rawConnection(world.activator);
    const head = "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: Upgrade\r\n";
    client.send(`${head}Upgrade: websocket\r\n\r\n`);
    await eventually(() => asked.length === 1);
    expect(await promise(world)).toEqual({ inFlight: 1 });
    asked[0]?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    const received = await client.closed();
    expect(received).toMatch(/^HTTP\/1.1 101/);
    expect(received.endsWith("\x88\x02\x03\xe9")).toBe(true);
    await eventually(async () => (await promise(world)).inFlight === 0);
  });
});

describe("a request that ignoreRequests matches", () => {
  const autoSuspension = { ignoreRequests: [{ userAgentPrefix: "monitor/" }] };
  const monitor = { "User-Agent": "monitor/1" };

  it("does not wake its sandbox, and is rejected", async () => {
    await using world = await open();
    await world.asleep("nova", undefined, { autoSuspension });
    const response = await fetch(world.activator.proxyUrl, { headers: { ...id, ...monitor } });
    expect([response.status, response.headers.get("x-rouse-reason")]).toEqual([409, "WakeNotAllowed"]);
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("is answered by a running sandbox, and does not count", async () => {
    await using world = await open();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end("awake")),
      { autoSuspension },
    );
    expect(await answerOf(world, monitor)).toBe("awake");
    expect(await observed(world)).toEqual({ inFlight: 0 });
  });

  it("is counted apart at the promise", async () => {
    await using world = await open();
    const finish: (() => void)[] = [];
    const program = httpProgram((_, response) => void finish.push(() => response.end("done")));
    await world.awake("nova", program, { autoSuspension });
    const answer = answerOf(world, monitor);
    await eventually(() => finish.length === 1);
    expect(await observed(world)).toEqual({ inFlight: 0 });
    expect(await promise(world)).toEqual({ inFlight: 0, ignored: 1 });
    finish[0]?.();
    expect(await answer).toBe("done");
    await eventually(async () => (await promise(world)).ignored === undefined);
  });
});
