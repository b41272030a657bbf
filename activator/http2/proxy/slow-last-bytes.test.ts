import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  endsStream,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
  settingsOf,
  uint32,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { collectOpen } from "../../../test/support/sockets/deaf-listener.ts";
import { webSocketProofFor } from "../../../test/support/sockets/web-socket-proof.ts";

const asks = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":authority", "nova.test"],
  [":path", "/chat"],
  ["sec-websocket-version", "13"],
] as const;
/** A message, and the close frame. */
const body = Buffer.concat([
  Buffer.from([0x82, 126, 0x03, 0xe8]),
  Buffer.alloc(1_000),
  Buffer.from([0x88, 2, 3, 0xe8]),
]);

it("a slow client of a WebSocket over HTTP/2 gets all that its sandbox sent before the fence", async () => {
  let sandbox: Socket | undefined;
  await using backend = await openBackend((socket) => {
    sandbox = socket;
    socket.once("data", (bytes) => {
      const proof = webSocketProofFor(bytes.toString("latin1"));
      const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`;
      socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 101 Go\r\n${fields}`), body]));
    });
  });
  const clock = new FakeClock();
  const { connections, onOpen } = collectOpen();
  await using path = await openProxyPath(backend.port, { clock, onOpen });
  {
    using client = await openFrameClient(path.port, [settingsOf([4, 0])]);
    client.send(headersOf(1, asks, flag.endHeaders));
    await client.until(({ type }) => type === frame.headers);
    await eventually(() => sandbox?.writableFinished === true);
    for (let turns = 0; turns < 30; turns += 1) await turn(); // the activator sees the end, too
    connections[0]?.close();
    for (let second = 0; second < 5; second += 1) await clock.advance(1_000);
    await eventually(() => backend.open === 0); // the Pod is free
    client.send(frameOf({ type: frame.windowUpdate, stream: 1 }, uint32(100_000)));
    expect((await client.until(endsStream(1))).type).toBe(frame.data);
    const data = client.frames.filter(({ type }) => type === frame.data).map(({ payload }) => payload);
    expect(Buffer.concat(data).equals(body)).toBe(true);
  }
  await path.empty();
});
