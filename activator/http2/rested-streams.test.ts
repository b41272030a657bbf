import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { startHttp2Sandbox } from "../../test/support/grpc/http2-sandbox.ts";
import { messageFrame } from "../../test/support/grpc/web-frames.ts";
import { answerOf, openHttp2Client } from "../../test/support/http2-client.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../../test/support/proxy-path.ts";
import { webSocketProofFor } from "../../test/support/sockets/web-socket-proof.ts";
import { StreamWriter } from "./front/stream-writer.ts";

const body = Buffer.alloc(60_000, "x");
const message = messageFrame(body.toString());
const grpc = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
const asksForWebSocket = { ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "nova" };
/** Who takes no byte of a body. */
const noWindow = { settings: { initialWindowSize: 0 } };

/** The budget looks at no stream once nothing waits, and at this one again once something does. */
async function countsAgain(path: ProxyPath, send: () => void, least = body.length): Promise<void> {
  await eventually(() => path.waiting.sweepIndex === -1);
  expect(path.waiting.bytes).toBe(0);
  send();
  await eventually(() => path.waiting.bytes >= least);
}

describe("what waits on a stream that has rested is counted", () => {
  it.each(["response", "WebSocket"])("within a %s", async (kind) => {
    const sockets: Socket[] = [];
    await using backend = await openBackend((socket) => {
      socket.once("data", (bytes: Buffer) => {
        const fields = `Upgrade: websocket\r\nSec-WebSocket-Accept: ${webSocketProofFor(bytes.toString("latin1"))}\r\n`;
        const switches = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${fields}\r\n`;
        socket.write(kind === "WebSocket" ? switches : "HTTP/1.1 200 OK\r\n\r\n");
        sockets.push(socket);
      });
    });
    await using path = await openProxyPath(backend.port);
    using client = openHttp2Client(path.port, noWindow);
    await new Promise((resolve) => client.session.once("remoteSettings", resolve));
    client.open(kind === "WebSocket" ? asksForWebSocket : {});
    await eventually(() => sockets.length === 1);
    await countsAgain(path, () => sockets[0]?.write(body));
  });

  it("within a request", async () => {
    const sockets: Socket[] = [];
    await using backend = await openBackend((socket) => sockets.push(socket.pause()));
    await using path = await openProxyPath(backend.port);
    using client = openHttp2Client(path.port, { maxSessionMemory: 1_000 });
    const stream = client.open({ ":method": "POST" });
    await eventually(() => sockets.length === 1);
    await countsAgain(path, () => stream.write(Buffer.alloc(20_000_000)), 1); // the kernel takes most of it
  });

  it("within the response to a call of gRPC", async () => {
    const streams: ServerHttp2Stream[] = [];
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      streams.push(stream);
    });
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port, noWindow);
    client.open(grpc);
    await eventually(() => streams.length === 1);
    await countsAgain(path, () => streams[0]?.write(message));
  });

  it("within a call of gRPC", async () => {
    let begun = 0;
    await using sandbox = await startHttp2Sandbox(() => (begun += 1), undefined, noWindow.settings);
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const stream = client.open(grpc);
    await eventually(() => begun === 1);
    await countsAgain(path, () => stream.write(message));
  });

  it("within a call of gRPC-Web over HTTP/1.1", async () => {
    let begun = 0;
    await using sandbox = await startHttp2Sandbox(() => (begun += 1), undefined, noWindow.settings);
    await using path = await openProxyPath(sandbox.port);
    const socket = await dialled(path.port);
    const head =
      "POST / HTTP/1.1\r\nHost: nova\r\nContent-Type: application/grpc-web\r\nContent-Length: 200000\r\n\r\n";
    socket.resume().write(head);
    await eventually(() => begun === 1);
    await countsAgain(path, () => socket.write(message));
    socket.destroy();
  });
});

it("a call of gRPC in which nothing moves is looked at less and less, and ends at its limit", async () => {
  const clock = new FakeClock();
  let begun = 0;
  await using sandbox = await startHttp2Sandbox(() => (begun += 1));
  await using path = await openProxyPath(sandbox.port, { clock, streamIdleMs: 600_000 });
  using client = openHttp2Client(path.port);
  const answered = answerOf(client.open(grpc));
  await eventually(() => begun === 1);
  await clock.advance(1_000);
  const looks = vi.spyOn(StreamWriter.prototype, "queuedBytes", "get");
  try {
    await clock.advance(590_000);
    expect(looks.mock.calls.length).toBeLessThan(100);
    expect(path.http2.active).toBe(1);
    await clock.advance(10_000);
    await answered;
    expect(path.refusals).toEqual(["ResponseLost"]);
  } finally {
    looks.mockRestore();
  }
});
