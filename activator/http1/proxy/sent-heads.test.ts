import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { heapBytesOf } from "../../../test/support/heap-bytes.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { ClientRequest } from "../front/client-request.ts";
import { RequestHeadParser, requestHeadLimits } from "../parse/request-head-parser.ts";

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

it("a large head that was sent still has what the access log and an error page read", () => {
  const fields = `X-Sandbox-ID: nova\r\nX-Sandbox-Namespace: lab\r\nUser-Agent: ${"u".repeat(300)}\r\nAccept: text/html\r\n`;
  const bytes = Buffer.from(`GET /a?b HTTP/1.1\r\nHost: nova.example\r\n${fields}Accept: */*;q=0.1\r\n${filler}\r\n`);
  const parser = new RequestHeadParser({ ...requestHeadLimits, sectionBytesMax: 65_536 });
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  const request = new ClientRequest(parser.head.keep(), { peer: "192.0.2.1", clientIp: "192.0.2.1", scheme: "http" });
  request.sent();
  expect([request.method, request.target, request.host]).toEqual(["GET", "/a", "nova.example"]);
  expect(Object.fromEntries(request.headers)).toEqual({
    ...{ accept: "text/html,*/*;q=0.1", "x-sandbox-id": "nova", "x-sandbox-namespace": "lab" },
    "user-agent": "u".repeat(256),
  });
});

const fields = (count: number, value: string) =>
  Array.from({ length: count }, (_, at) => `x-a${at}: ${value}\r\n`).join("");

/** A request whose head is kept while it is held, and was read. */
function requestWith(lines: string): ClientRequest {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: nova.example\r\n${lines}\r\n`);
  const parser = new RequestHeadParser({ ...requestHeadLimits, sectionBytesMax: 65_536 });
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  const request = new ClientRequest(parser.head.keep(), { peer: "192.0.2.1", clientIp: "192.0.2.1", scheme: "http" });
  expect(request.headers.length).toBeGreaterThan(0);
  return request;
}

it.each([
  ["one long field", fields(1, "b".repeat(8_000))],
  ["120 fields", fields(120, "b".repeat(55))],
  ["98 short fields", fields(98, "b")],
])("a head with %s takes at most 3 KiB more memory than it counts", async (_, lines) => {
  const kept: ClientRequest[] = [];
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 200; count += 1) kept.push(requestWith(lines));
  });
  const [first] = kept;
  expect(bytes / kept.length).toBeLessThan((first?.bytes ?? 0) + 3_072);
});

it("a head with many fields is large, however few bytes they have", () => {
  expect([requestWith(fields(30, "b")).isLarge, requestWith(fields(100, "b")).isLarge]).toEqual([false, true]);
});
