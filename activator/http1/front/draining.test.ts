import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { ClientConnection } from "./client-connection.ts";

const request = "POST /one HTTP/1.1\r\nHost: nova\r\nContent-Length: 2\r\n\r\nhi";
const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const answering = () => openStrictBackend(answer);

/** A client that has been served once, and keeps its connection. */
async function served(port: number): Promise<Socket> {
  const socket = await dialled(port);
  socket.write(request);
  await once(socket, "data");
  return socket;
}

describe("a front that drains", () => {
  it("answers the first request of an accepted connection, even a late one", async () => {
    await using backend = await answering();
    await using proxyPath = await openProxyPath(backend.port);
    const socket = await dialled(proxyPath.port);
    await eventually(() => proxyPath.connections.open === 1);
    proxyPath.front.beginDrain();
    proxyPath.front.stopAccepting();
    const idle = proxyPath.front.idle();
    const heard = hear(socket);
    socket.write(request.slice(0, 20));
    socket.write(request.slice(20));
    expect(await heard).toMatch(/^HTTP\/1.1 200 OK[\s\S]*Connection: close[\s\S]*ok$/);
    await idle;
  });

  it("answers a request whose head had begun to arrive while the response before it was sent", async () => {
    const rest = Promise.withResolvers<void>();
    const server = createServer({ maxHeaderSize: 65_536 }, async (incoming, response) => {
      response.write("begun");
      if (incoming.url === "/first") await rest.promise;
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    await using proxyPath = await openProxyPath((server.address() as AddressInfo).port);
    const socket = await dialled(proxyPath.port);
    const heard = hear(socket);
    socket.write("GET /first HTTP/1.1\r\nHost: nova\r\n\r\n");
    await once(socket, "data");
    // More than is read ahead, and no whole head in what is read.
    socket.write(`GET /second HTTP/1.1\r\nHost: nova\r\nX-Long: ${"x".repeat(40_000)}\r\n\r\n`);
    await eventually(() => socket.writableLength === 0);
    proxyPath.front.beginDrain();
    proxyPath.front.stopAccepting();
    rest.resolve();
    expect((await heard).match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
    server.close();
  });

  it("does not wait forever for a connection without a request", async () => {
    await using backend = await answering();
    await using proxyPath = await openProxyPath(backend.port, { headersTimeoutMs: 200 });
    const socket = await dialled(proxyPath.port);
    await eventually(() => proxyPath.connections.open === 1);
    const over = hear(socket);
    proxyPath.front.stopAccepting();
    await proxyPath.front.idle();
    expect(await over).toBe("");
  });

  it("answers once more on an idle connection, with Connection: close", async () => {
    await using backend = await answering();
    await using proxyPath = await openProxyPath(backend.port);
    const socket = await served(proxyPath.port);
    proxyPath.front.beginDrain();
    const heard = hear(socket);
    socket.write(request);
    expect(await heard).toMatch(/Connection: close[\s\S]*ok$/);
  });

  it("closes idle connections once it stops accepting", async () => {
    await using backend = await answering();
    await using proxyPath = await openProxyPath(backend.port);
    const heard = hear(await served(proxyPath.port));
    proxyPath.front.beginDrain();
    proxyPath.front.stopAccepting();
    await proxyPath.front.idle();
    expect(await heard).toBe("");
  });

  it("does not search all connections at each close while it waits for one", async () => {
    await using backend = await answering();
    await using proxyPath = await openProxyPath(backend.port);
    const idle = await Promise.all(Array.from({ length: 100 }, () => served(proxyPath.port)));
    const fresh = await dialled(proxyPath.port);
    await eventually(() => proxyPath.connections.open === 101);
    const searched = vi.spyOn(ClientConnection.prototype, "awaited", "get");
    onTestFinished(() => searched.mockRestore());
    proxyPath.front.stopAccepting();
    const over = proxyPath.front.idle();
    for (const socket of idle) socket.end();
    await eventually(() => proxyPath.connections.open === 1);
    expect(searched.mock.calls.length).toBeLessThan(700);
    fresh.destroy();
    await over;
  });
});
