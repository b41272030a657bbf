import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { collectOpen } from "../../../test/support/sockets/deaf-listener.ts";

/** A frame of a WebSocket. One piece may wait in the activator, and it still reads the end of the sandbox. */
const piece = Buffer.concat([Buffer.from([0x82, 126, 0x2e, 0xe0]), Buffer.alloc(12_000)]);
const last = Buffer.from([0x88, 0x02, 0x03, 0xe8]);

it.each(["tcp", "websocket"])(
  "a slow client of a %s tunnel gets all that its sandbox sent before the fence",
  async (protocol) => {
    const head = `HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
    let sandbox: Socket | undefined;
    await using backend = await openBackend((socket) => {
      sandbox = socket;
      socket.once("data", () => socket.write(head));
    });
    const clock = new FakeClock();
    const { connections, onOpen } = collectOpen();
    await using path = await openProxyPath(backend.port, { clock, onOpen });
    const client = await dialled(path.port);
    let [error, hasEnded, read] = ["", false, 0];
    client.on("error", ({ message }) => (error = message)).on("end", () => (hasEnded = true));
    client.pause().write(`GET /attach HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
    await eventually(() => connections.length === 1);
    const { client: accepted, sandbox: dialledSocket } = path.sockets ?? {};
    let size = head.length;
    while (accepted?.writableLength === 0) {
      sandbox?.write(piece);
      size += piece.length;
      while (dialledSocket?.bytesRead !== size) await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
    sandbox?.end(last);
    size += last.length;
    await eventually(() => dialledSocket?.readableEnded === true);
    expect(accepted?.writableLength).toBeGreaterThan(0);
    connections[0]?.close();
    for (let second = 0; second < 5; second += 1) await clock.advance(1_000);
    await eventually(() => backend.open === 0); // the Pod is free
    client.on("data", (bytes: Buffer) => (read += bytes.length)).resume();
    await eventually(() => hasEnded || error !== "");
    expect([read, error]).toEqual([size, ""]);
    client.destroy();
    await clock.advance(2_000);
    await path.empty();
  },
);
