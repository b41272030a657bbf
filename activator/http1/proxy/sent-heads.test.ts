import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { heapBytesOf } from "../../../test/support/heap-bytes.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const filler = Array.from({ length: 7 }, (_, at) => `X-F${at}: ${"a".repeat(8_500)}\r\n`).join("");

it.each([
  ["a WebSocket", "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  ["a request whose response lasts", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun"],
])("%s does not keep its large head after it was sent", async (_, response) => {
  await using backend = await openBackend((socket) => socket.once("data", () => socket.write(response)));
  await using proxyPath = await openProxyPath(backend.port);
  const clients: Socket[] = [];
  const open = async () => {
    const client = await dialled(proxyPath.port);
    clients.push(client);
    client.write(`GET / HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${filler}\r\n`);
    await new Promise((resolve) => client.once("data", resolve));
  };
  await open();
  const bytes = await heapBytesOf(async () => {
    for (let count = 0; count < 50; count += 1) await open();
  });
  for (const client of clients) client.destroy();
  expect(bytes / 50).toBeLessThan(45_000);
});
