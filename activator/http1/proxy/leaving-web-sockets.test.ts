import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { eventually } from "../../../test/support/eventually.ts";
import { httpProgram, openActivatorWorld } from "../../../test/support/labs/activator-world.ts";
import {
  dialled,
  openBackend,
  openProxyPath,
  type ProxyPath,
  type ProxyPathOptions,
} from "../../../test/support/proxy-path.ts";

const goingAway = "\x88\x02\x03\xe9";

interface Tunnel extends AsyncDisposable {
  readonly proxyPath: ProxyPath;
  readonly client: Socket;
  /** The sandbox's end. */
  readonly sandbox: Socket;
  /** All that the client got behind the 101. */
  readonly heard: () => string;
  /** How the client saw it end: "end", or the code of an error. */
  readonly over: Promise<string>;
}

/** A tunnel in which the sandbox has said `first`. */
async function tunnel(protocol: string, first: string, options: ProxyPathOptions = {}): Promise<Tunnel> {
  await using opened = new AsyncDisposableStack();
  const accepted: Socket[] = [];
  const switched = `HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
  const backend = opened.use(
    await openBackend((socket) => {
      accepted.push(socket);
      socket.once("data", () => socket.write(Buffer.from(`${switched}${first}`, "latin1")));
    }),
  );
  const proxyPath = opened.use(await openProxyPath(backend.port, options));
  const client = await dialled(proxyPath.port);
  opened.defer(() => void client.destroy());
  const over = new Promise<string>((resolve) => {
    client.once("end", () => resolve("end")).once("error", ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
  });
  let text = "";
  client.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  client.write(`GET / HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  const heard = () => text.slice(switched.length);
  await eventually(() => text.length >= switched.length && heard().startsWith(first));
  const [sandbox] = accepted;
  if (!sandbox) throw new Error("no connection to the sandbox");
  const closing = opened.move();
  return { proxyPath, client, sandbox, heard, over, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

describe("a WebSocket of a replica that exits", () => {
  it("is closed with code 1001, and no data follows", async () => {
    await using open = await tunnel("websocket", "\x81\x02hi");
    open.proxyPath.front.endWebSockets();
    open.sandbox.write(Buffer.from("\x81\x02no", "latin1"));
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe(`\x81\x02hi${goingAway}`);
  });

  it("is closed between two fragments of a message", async () => {
    await using open = await tunnel("websocket", "\x01\x02ha");
    open.proxyPath.front.endWebSockets();
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe(`\x01\x02ha${goingAway}`);
  });

  it("gets the rest of a begun frame, and is closed after it", async () => {
    await using open = await tunnel("websocket", "\x82\x0aabcde");
    open.proxyPath.front.endWebSockets();
    open.sandbox.write("fgh");
    await eventually(() => open.heard().endsWith("fgh"));
    open.sandbox.write("ij");
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe(`\x82\x0aabcdefghij${goingAway}`);
  });

  it("that the sandbox has closed gets no second close", async () => {
    await using open = await tunnel("websocket", "\x88\x02\x03\xe8");
    open.proxyPath.front.endWebSockets();
    open.sandbox.end();
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe("\x88\x02\x03\xe8");
  });

  it("of another protocol gets no close frame", async () => {
    await using open = await tunnel("tcp", "hi");
    open.proxyPath.front.endWebSockets();
    open.sandbox.end(" there");
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe("hi there");
  });

  it("is closed with 1001 at its limit", async () => {
    await using world = await openActivatorWorld(["--shutdown-timeout=100ms"]);
    const program = httpProgram(
      (_, response) => response.end(),
      (server) => void new WebSocketServer({ server }),
    );
    await world.awake("nova", program);
    const { port } = new URL(world.activator.proxyUrl);
    const client = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { "x-sandbox-id": "nova" } });
    await once(client, "open");
    const closed = once(client, "close");
    await world.activator.drain();
    expect((await closed)[0]).toBe(1001);
  });
});

describe("a WebSocket at a limit of its own", () => {
  it.each([
    ["the pause that a tunnel may have", { tunnelIdleMs: 200 }],
    ["the life that a tunnel may have", { tunnelLifetimeMs: 200 }],
  ])("is closed with code 1001: %s", async (_, options) => {
    await using open = await tunnel("websocket", "\x81\x02hi", options);
    expect(await open.over).toBe("end");
    expect(open.heard()).toBe(`\x81\x02hi${goingAway}`);
    open.client.end();
    await open.proxyPath.empty();
  });

  it("is reset in the middle of a frame", async () => {
    await using open = await tunnel("websocket", "\x82\x0aabcde", { tunnelIdleMs: 200 });
    expect(await open.over).toBe("ECONNRESET");
    expect(open.heard()).toBe("\x82\x0aabcde");
  });

  it("is reset if its client reads too little for the close frame", async () => {
    const block = Buffer.alloc(4 << 20, Buffer.from("\x82\x0eabcdefghijklmn", "latin1"));
    await using open = await tunnel("websocket", "\x81\x02hi", { tunnelIdleMs: 500 });
    open.client.pause();
    for (let time = 0; time < 6; time += 1) open.sandbox.write(block);
    open.sandbox.on("end", () => open.sandbox.end()).resume();
    await eventually(() => open.proxyPath.connections.open === 0);
    open.client.resume();
    expect(await open.over).toBe("ECONNRESET");
  });
});
