import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { observed, promised } from "../support/drain-questions.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";
import { talkTo } from "../support/labs/tcp-front-lab.ts";

const open = () => openActivatorWorld(["--drain-bind-address=127.0.0.1:0"]);

/** A call about a past generation, which has no effect. */
const inFlight = async (world: ActivatorWorld) => (await observed(world, -1)).inFlight;

describe("a WebSocket", () => {
  it("has work in flight from a client's message to a message of the sandbox, despite pings", async () => {
    await using world = await open();
    const accepted: WebSocket[] = [];
    const heard: string[] = [];
    const upgrades = (server: Server) =>
      new WebSocketServer({ server }).on("connection", (socket) => {
        accepted.push(socket.on("message", (data) => heard.push(String(data))).on("ping", () => heard.push("ping")));
      });
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end(), upgrades),
    );
    const { port } = new URL(world.activator.proxyUrl);
    const client = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { "x-sandbox-id": "nova" } });
    let pongs = 0;
    let closeCode = 0;
    const messages: string[] = [];
    client
      .on("pong", () => (pongs += 1))
      .on("message", (data) => messages.push(String(data)))
      .on("close", (code) => (closeCode = code));
    await new Promise((resolve, reject) => client.once("open", resolve).once("error", reject));
    client.ping();
    await eventually(() => pongs === 1);
    expect(await inFlight(world)).toBe(0);
    client.send("compute");
    client.ping();
    accepted[0]?.ping();
    await eventually(() => heard.join() === "ping,compute,ping" && pongs === 2);
    expect(await inFlight(world)).toBe(1);
    expect(await promised(world)).toEqual({ inFlight: 1 });
    expect(closeCode).toBe(0);
    accepted[0]?.send("result");
    await eventually(() => messages.join() === "result" && closeCode !== 0);
    expect(closeCode).toBe(1001);
    await eventually(async () => (await promised(world)).inFlight === 0);
  });

  it("has work in flight from a message that the client sent with its request", async () => {
    await using world = await open();
    let heard = "";
    const upgrades = (server: Server) =>
      server.on("upgrade", (_, socket, early) => {
        socket.on("error", () => {}).on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
        socket.unshift(early);
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      });
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end(), upgrades),
    );
    using client = await rawConnection(world.activator);
    const head =
      "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.send(Buffer.from(`${head}\x81\x81abcdX`, "latin1"));
    await eventually(() => heard.endsWith("X"));
    expect(await inFlight(world)).toBe(1);
  });

  it("is not answered by the rest of an earlier message", async () => {
    await using world = await open();
    const tunnels: Duplex[] = [];
    const heard: Buffer[] = [];
    const upgrades = (server: Server) =>
      server.on("upgrade", (_, socket) => {
        socket.on("error", () => {}).on("data", (bytes: Buffer) => heard.push(bytes));
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.write(Buffer.from("\x82\x0aabcde", "latin1"));
        tunnels.push(socket);
      });
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end(), upgrades),
    );
    using client = await rawConnection(world.activator);
    client.send(
      "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    await client.until("abcde");
    client.send(Buffer.from("\x81\x81abcdX", "latin1"));
    await eventually(() => heard.length > 0);
    tunnels[0]?.write("fghij");
    await client.until("fghij");
    expect(await inFlight(world)).toBe(1);
    tunnels[0]?.write(Buffer.from("\x82\x01z", "latin1"));
    await client.until("z");
    expect(await inFlight(world)).toBe(0);
  });

  it.each([
    { rest: "fghij", seen: "code 1001 after the frame" },
    { rest: "", seen: "a reset" },
  ])("in the middle of a frame when its Pod is fenced gets $seen: the sandbox still sends $rest", async ({ rest }) => {
    await using world = await open();
    const tunnels: Duplex[] = [];
    const upgrades = (server: Server) =>
      server.on("upgrade", (_, socket) => {
        tunnels.push(socket.on("error", () => {}).resume());
        const frame = "\x82\x0aabcde";
        const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        socket.write(Buffer.from(`${head}${frame}`, "latin1"));
      });
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end(), upgrades),
    );
    using client = await talkTo(Number(new URL(world.activator.proxyUrl).port));
    client.send(
      "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    await client.until("abcde");
    expect(await promised(world)).toEqual({ inFlight: 0 });
    tunnels[0]?.write(rest);
    expect(await client.over()).toBe(rest === "" ? "reset" : "ended");
    expect(client.received.endsWith(rest === "" ? "abcde" : "abcdefghij\x88\x02\x03\xe9")).toBe(true);
  });
});
