import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { answerOf, type Http2Client, openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  endsStream,
  type FrameClient,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  uint32,
} from "../../../test/support/http2-frames.ts";
import {
  type Backend,
  openBackend,
  openProxyPath,
  type ProxyPath,
  type ProxyPathOptions,
} from "../../../test/support/proxy-path.ts";
import { webSocketProofFor } from "../../../test/support/sockets/web-socket-proof.ts";
import type { OpenConnection } from "../../activity/open-connections.ts";

const goingAway = "\x88\x02\x03\xe9";
const hello = "\x81\x02hi";

const asks = {
  ":method": "CONNECT",
  ":protocol": "websocket",
  ":path": "/chat",
  ":authority": "nova.test",
  ":scheme": "http",
};

/** A sandbox that switches to WebSockets, with the proof that a function makes of the head. */
async function openSandbox(
  accepted: Socket[],
  heads: string[],
  proof: (head: string) => string = webSocketProofFor,
): Promise<Backend> {
  return openBackend((socket) => {
    accepted.push(socket);
    socket.once("data", (bytes: Buffer) => {
      const head = bytes.toString("latin1");
      heads.push(head);
      const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: chat`;
      socket.write(`HTTP/1.1 101 Go\r\n${fields}\r\nSec-WebSocket-Accept: ${proof(head)}\r\n\r\n${hello}`, "latin1");
    });
  });
}

interface Open extends AsyncDisposable {
  readonly proxyPath: ProxyPath;
  readonly client: Http2Client;
  readonly stream: ClientHttp2Stream;
  readonly sandbox: Socket;
  readonly head: string;
  readonly heard: () => string;
}

async function opened(options: ProxyPathOptions = {}): Promise<Open> {
  await using stack = new AsyncDisposableStack();
  const [accepted, heads]: [Socket[], string[]] = [[], []];
  const backend = stack.use(await openSandbox(accepted, heads));
  const proxyPath = stack.use(await openProxyPath(backend.port, options));
  const client = stack.use(openHttp2Client(proxyPath.port));
  await once(client.session, "remoteSettings");
  const stream = client.open({
    ...asks,
    "sec-websocket-version": "13",
    "sec-websocket-protocol": "chat",
    origin: "http://nova.test",
  });
  let text = "";
  stream.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
  });
  const [headers] = await once(stream, "response");
  expect(headers).toMatchObject({ ":status": 200, "sec-websocket-protocol": "chat" });
  expect(headers).not.toHaveProperty("sec-websocket-accept");
  await eventually(() => text === hello);
  const [sandbox] = accepted;
  if (!sandbox) throw new Error("no connection to the sandbox");
  const closing = stack.move();
  return {
    ...{ proxyPath, client, stream, sandbox, head: heads[0] ?? "", heard: () => text.slice(hello.length) },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

let pings = 0;

/** Resolves once the activator has read everything that was sent before. */
async function answersPing(client: FrameClient): Promise<void> {
  const data = Buffer.alloc(8);
  data.writeUInt32BE(++pings);
  client.send(frameOf({ type: frame.ping }, data));
  await client.until(({ type, payload }) => type === frame.ping && payload.equals(data));
}

/** Fills the buffers on the way to a sandbox that reads nothing, and the window of stream 1. Returns the number of bytes. */
async function sendUntilBehind(client: FrameClient): Promise<number> {
  let sent = 0;
  const window = () => {
    const updates = client.frames.filter(({ type, stream }) => type === frame.windowUpdate && stream === 1);
    return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
  };
  for (let idle = 0; idle < 3; idle += 1) {
    for (; sent < window(); idle = 0) {
      const piece = Buffer.alloc(Math.min(16_384, window() - sent), "x");
      client.send(frameOf({ type: frame.data, stream: 1 }, piece));
      sent += piece.length;
    }
    await answersPing(client);
  }
  return sent;
}

const masked = "\x81\x82\0\0\0\0yo";

describe("a WebSocket over HTTP/2", () => {
  it("is an upgrade of HTTP/1.1 at the sandbox, and carries data both ways to either end", async () => {
    await using open = await opened();
    expect(open.head).toMatch(/^GET \/chat HTTP\/1\.1\r\nHost: nova\.test\r\n/);
    expect(open.head).toMatch(/\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/);
    expect(open.head).toMatch(/\r\norigin: http:\/\/nova\.test\r\n/);
    let got = "";
    open.sandbox.on("data", (bytes: Buffer) => (got += bytes.toString("latin1")));
    const ended = once(open.sandbox, "end");
    open.stream.end(Buffer.from(masked, "latin1"));
    await ended;
    expect(got).toBe(masked);
    const over = answerOf(open.stream);
    open.sandbox.end(Buffer.from("\x81\x03bye", "latin1"));
    expect(await over).toMatchObject({ code: 0 });
    expect(open.heard()).toBe("\x81\x03bye");
    open.client[Symbol.dispose]();
    await open.proxyPath.empty();
    expect(open.proxyPath.ends).toEqual([{ status: 200, bytesOut: 9 }]);
  });

  it("carries much data in both directions while one side is slow", async () => {
    await using open = await opened();
    const data = Buffer.alloc(3_000_000, "x");
    let got = 0;
    open.sandbox.pause();
    open.stream.write(data);
    await eventually(() => open.stream.writableLength > 0);
    open.sandbox.on("data", (bytes: Buffer) => (got += bytes.length)).resume();
    await eventually(() => got === data.length);
    open.stream.pause();
    open.sandbox.write(data);
    open.stream.resume();
    await eventually(() => open.heard().length === data.length);
  });

  it("that both sides have ended still gives the sandbox every byte, however slowly it reads", async () => {
    const accepted: Socket[] = [];
    await using backend = await openSandbox(accepted, []);
    await using proxyPath = await openProxyPath(backend.port);
    using client = await openFrameClient(proxyPath.port);
    const fields = Object.entries({ ...asks, "sec-websocket-version": "13" });
    client.send(headersOf(1, fields, flag.endHeaders));
    await client.until(({ type, stream }) => type === frame.data && stream === 1);
    const [sandbox] = accepted;
    if (!sandbox) throw new Error("no connection to the sandbox");
    sandbox.pause().end();
    await client.until(endsStream(1));
    const sent = await sendUntilBehind(client);
    client.send(frameOf({ type: frame.data, stream: 1, flags: flag.endStream }));
    await answersPing(client);
    expect(proxyPath.http2.active).toBe(1);
    let got = 0;
    sandbox.on("data", (bytes: Buffer) => (got += bytes.length));
    const ended = once(sandbox, "end");
    sandbox.resume();
    await ended;
    expect(got).toBe(sent);
    client[Symbol.dispose]();
    await proxyPath.empty();
  });

  it.each([
    {
      name: "reset by the client resets the sandbox's connection",
      end: ({ stream }: Open) => stream.destroy(new Error("reset")),
    },
    {
      name: "whose client is gone resets the sandbox's connection",
      end: ({ client }: Open) => client.session.destroy(),
    },
  ])("$name", async ({ end }) => {
    await using open = await opened();
    const failed = once(open.sandbox, "error");
    end(open);
    expect((await failed)[0]).toMatchObject({ code: "ECONNRESET" });
    open.client[Symbol.dispose]();
    await open.proxyPath.empty();
  });

  it("whose sandbox is lost is reset, never ended", async () => {
    await using open = await opened();
    const over = answerOf(open.stream);
    open.sandbox.resetAndDestroy();
    expect(await over).toMatchObject({ code: 2 });
  });

  it("whose sandbox is lost is reset, also if the loss shows when a client that reads nothing sends", async () => {
    const clock = new FakeClock();
    const accepted: Socket[] = [];
    await using backend = await openSandbox(accepted, []);
    await using proxyPath = await openProxyPath(backend.port, { clock });
    using client = await openFrameClient(proxyPath.port);
    const fields = Object.entries({ ...asks, "sec-websocket-version": "13" });
    client.send(headersOf(1, fields, flag.endHeaders));
    await client.until(({ type, stream }) => type === frame.data && stream === 1);
    const [sandbox] = accepted;
    if (!sandbox) throw new Error("no connection to the sandbox");
    // Whole frames, just as many as make the activator stop reading. So a close frame could follow.
    sandbox.write(hello.repeat((65_536 + 65_536) / hello.length - 1), "latin1");
    const took = () => client.frames.filter(({ type }) => type === frame.data).map(({ payload }) => payload);
    await eventually(() => Buffer.concat(took()).length === 65_535);
    sandbox.resetAndDestroy();
    for (let sent = 0; sent < 3; sent += 1) {
      client.send(frameOf({ type: frame.data, stream: 1 }, Buffer.from(masked, "latin1")));
      await answersPing(client);
    }
    await clock.advance(300);
    client.send(...[0, 1].map((stream) => frameOf({ type: frame.windowUpdate, stream }, uint32(10_000_000))));
    expect(await client.until(endsStream(1))).toMatchObject({ type: frame.reset });
    expect(Buffer.concat(took()).toString("latin1")).not.toContain(goingAway);
  });

  it("gets the close code 1001 when the replica exits, between two frames of the sandbox", async () => {
    await using open = await opened();
    const over = answerOf(open.stream);
    open.sandbox.write(Buffer.from("\x81\x04ab", "latin1"));
    await eventually(() => open.heard().length === 4);
    open.proxyPath.http2.endWebSockets();
    open.sandbox.write(Buffer.from("cd", "latin1"));
    open.sandbox.on("end", () => open.sandbox.end()).resume();
    expect(await over).toMatchObject({ code: 0 });
    expect(open.heard()).toBe(`\x81\x04abcd${goingAway}`);
  });

  it("is an open connection: data counts and pings do not, and it is closed with 1001 when its Pod sleeps", async () => {
    const calls: string[] = [];
    const connections: OpenConnection[] = [];
    await using open = await opened({
      onOpen(connection) {
        connections.push(connection);
        return {
          moved: () => void calls.push("moved"),
          clientSpoke: () => void calls.push("client"),
          sandboxSpoke: () => void calls.push("sandbox"),
          clientSends: () => {},
          requestEnded: () => void calls.push("ended"),
          sandboxEnded: () => {},
        };
      },
    });
    expect(calls).toEqual(["sandbox"]);
    let got = 0;
    open.sandbox.on("data", (bytes: Buffer) => (got += bytes.length));
    open.stream.write(Buffer.from("\x89\x80\0\0\0\0", "latin1"));
    await eventually(() => got === 6);
    open.sandbox.write(Buffer.from("\x8a\0", "latin1"));
    await eventually(() => open.heard().length === 2);
    expect(calls).toEqual(["sandbox"]);
    open.stream.write(Buffer.from(masked, "latin1"));
    await eventually(() => calls.length === 2);
    const over = answerOf(open.stream);
    for (const connection of connections) connection.close();
    open.stream.write(Buffer.from(masked, "latin1"));
    open.sandbox.on("end", () => open.sandbox.end());
    await over;
    expect(open.heard()).toBe(`\x8a\0${goingAway}`);
    expect(calls).toEqual(["sandbox", "client"]);
    expect(got).toBe(6 + masked.length);
  });

  it("forwards nothing of a client that sends before the turn in which it is closed", async () => {
    let isFenced = false;
    await using open = await opened({
      onOpen: (connection) => ({
        ...{ moved() {}, clientSpoke() {}, sandboxSpoke() {}, requestEnded() {}, sandboxEnded() {} },
        clientSends: () => isFenced && connection.close(),
      }),
    });
    let got = 0;
    open.sandbox.on("data", (bytes: Buffer) => (got += bytes.length));
    open.sandbox.on("end", () => open.sandbox.end());
    open.stream.write(Buffer.from(masked, "latin1"));
    await eventually(() => got === masked.length);
    isFenced = true;
    const over = answerOf(open.stream);
    open.stream.write(Buffer.from(masked, "latin1"));
    await over;
    expect(got).toBe(masked.length);
  });

  it("without traffic is closed with 1001 after the limit for pauses", async () => {
    await using open = await opened({ tunnelIdleMs: 200 });
    const over = answerOf(open.stream);
    open.sandbox.on("end", () => open.sandbox.end()).resume();
    await over;
    expect(open.heard()).toBe(goingAway);
  });

  it.each([
    {
      name: "no proof that it read the key",
      answer: (): string => "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
    },
    {
      name: "another protocol",
      answer: (head: string): string =>
        `HTTP/1.1 101 Go\r\nUpgrade: tcp\r\nSec-WebSocket-Accept: ${webSocketProofFor(head)}\r\n\r\n`,
    },
    { name: "success without a switch", answer: (): string => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" },
  ])("is 502 if the sandbox answers with $name", async ({ answer }) => {
    await using backend = await openBackend((socket) => {
      socket.once("data", (bytes: Buffer) => socket.write(answer(bytes.toString("latin1")), "latin1"));
    });
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = openHttp2Client(proxyPath.port);
      await once(client.session, "remoteSettings");
      expect(await answerOf(client.open(asks))).toMatchObject({ status: 502 });
    }
    await proxyPath.empty();
  });

  it("gets the sandbox's refusal", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"));
    });
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = openHttp2Client(proxyPath.port);
      await once(client.session, "remoteSettings");
      expect(await answerOf(client.open(asks))).toMatchObject({ status: 403, body: "no", code: 0 });
    }
    await proxyPath.empty();
  });
});
